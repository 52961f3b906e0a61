package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.jr.ob.JSON;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Concat;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.ExpandDims;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Unary;
import dev.millrace.proto.serving.ModelSpec;
import dev.millrace.proto.serving.PredictRequest;
import dev.millrace.proto.serving.PredictResponse;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.serving.Prediction;
import dev.millrace.serving.Predictor;
import dev.millrace.serving.grpc.ServingMethods;
import dev.millrace.serving.server.ModelServer;
import dev.millrace.serving.server.ModelServerOptions;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.checkpoint.SavedModel;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.layers.Embedding;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import dev.millrace.wire.TensorCodec;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Three SavedModels that Python wrote predict the same here, by {@link Predictor}, REST and gRPC;
 * and one of Millrace predicts the same in Python.
 */
@NeedsPython
class ServingTest {
  private static final Duration LIMIT = Duration.ofMinutes(5);
  private static final double TOLERANCE = 1e-6;
  private static final List<String> MODELS = List.of("dense", "cnn", "wide_and_deep");

  @TempDir Path folder;

  @Test
  void modelsOfPythonPredictTheSame() throws Exception {
    PythonTensorFlow.find().run("serving_models.py", List.of(folder.toString()), LIMIT);
    Map<String, Path> models = new LinkedHashMap<>();
    MODELS.forEach(m -> models.put(m, folder.resolve(m)));
    try (ModelServer server = ModelServer.start(ModelServerOptions.of(models).withPorts(0, 0));
        HttpClient http = HttpClient.newHttpClient()) {
      ManagedChannel channel =
          NettyChannelBuilder.forAddress("127.0.0.1", server.grpcPort()).usePlaintext().build();
      try {
        for (String m : MODELS) {
          Map<String, Object> said =
              JSON.std.mapFrom(Files.readString(folder.resolve(m + ".json")));
          Map<String, Object> inputs = map(said.get("inputs"));
          Map<String, Object> outputs = map(said.get("outputs"));
          checkPredictor(m, inputs, outputs);
          checkRest(m, http, server.restPort(), inputs, outputs);
          checkGrpc(m, channel, inputs, outputs);
        }
      } finally {
        channel.shutdownNow();
      }
    }
  }

  private void checkPredictor(
      String model, Map<String, Object> inputs, Map<String, Object> outputs) {
    Map<String, Tensor> fed = tensors(inputs);
    try (Predictor p = Predictor.load(folder.resolve(model));
        Prediction out = p.predict(fed)) {
      outputs.forEach((name, o) -> assertClose(model, values(o), doubles(out.get(name))));
    } finally {
      fed.values().forEach(Tensor::close);
    }
  }

  private static void checkRest(
      String model,
      HttpClient http,
      int port,
      Map<String, Object> inputs,
      Map<String, Object> outputs)
      throws IOException, InterruptedException {
    Map<String, Object> fed = new HashMap<>();
    inputs.forEach((name, i) -> fed.put(name, nested(values(i), dims(i), 0, new int[1])));
    HttpResponse<String> r =
        http.send(
            HttpRequest.newBuilder(
                    URI.create("http://127.0.0.1:" + port + "/v1/models/" + model + ":predict"))
                .timeout(LIMIT)
                .POST(HttpRequest.BodyPublishers.ofString(JSON.std.asString(Map.of("inputs", fed))))
                .build(),
            HttpResponse.BodyHandlers.ofString());
    assertEquals(200, r.statusCode(), r.body());
    Object found = JSON.std.mapFrom(r.body()).get("outputs");
    outputs.forEach(
        (name, o) -> {
          List<Double> flat = new ArrayList<>();
          flatten(outputs.size() == 1 ? found : map(found).get(name), flat);
          assertClose(model, values(o), flat);
        });
  }

  private static void checkGrpc(
      String model,
      ManagedChannel channel,
      Map<String, Object> inputs,
      Map<String, Object> outputs) {
    PredictRequest.Builder request =
        PredictRequest.newBuilder().setModelSpec(ModelSpec.newBuilder().setName(model));
    tensors(inputs)
        .forEach(
            (name, t) -> {
              request.putInputs(name, TensorCodec.encodeConstant(t));
              t.close();
            });
    PredictResponse r =
        ClientCalls.blockingUnaryCall(
            channel,
            ServingMethods.PREDICT,
            CallOptions.DEFAULT.withDeadlineAfter(LIMIT.toSeconds(), TimeUnit.SECONDS),
            request.build());
    outputs.forEach(
        (name, o) -> {
          try (Tensor t = TensorCodec.decode(r.getOutputsOrThrow(name))) {
            assertClose(model, values(o), doubles(t));
          }
        });
  }

  private static void assertClose(String model, List<?> expected, List<Double> found) {
    assertEquals(expected.size(), found.size(), model);
    for (int i = 0; i < found.size(); i++) {
      assertEquals(((Number) expected.get(i)).doubleValue(), found.get(i), TOLERANCE, model);
    }
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> map(Object o) {
    return (Map<String, Object>) o;
  }

  private static List<?> values(Object described) {
    return (List<?>) map(described).get("values");
  }

  private static long[] dims(Object described) {
    List<?> shape = (List<?>) map(described).get("shape");
    return shape.stream().mapToLong(d -> ((Number) d).longValue()).toArray();
  }

  private static Object nested(List<?> values, long[] dims, int depth, int[] at) {
    if (depth == dims.length) {
      return values.get(at[0]++);
    }
    return LongStream.range(0, dims[depth])
        .mapToObj(i -> nested(values, dims, depth + 1, at))
        .toList();
  }

  private static void flatten(Object o, List<Double> to) {
    if (o instanceof List<?> list) {
      list.forEach(e -> flatten(e, to));
    } else {
      to.add(((Number) o).doubleValue());
    }
  }

  private static Map<String, Tensor> tensors(Map<String, Object> described) {
    Map<String, Tensor> all = new HashMap<>();
    described.forEach(
        (name, d) -> {
          List<?> v = values(d);
          Shape shape = Shape.of(dims(d));
          if (map(d).get("dtype").equals("string")) {
            all.put(name, Tensor.of(shape, v.toArray(String[]::new)));
            return;
          }
          float[] floats = new float[v.size()];
          for (int i = 0; i < floats.length; i++) {
            floats[i] = ((Number) v.get(i)).floatValue();
          }
          all.put(name, Tensor.of(shape, floats));
        });
    return all;
  }

  private static List<Double> doubles(Tensor t) {
    List<Double> all = new ArrayList<>();
    for (double v : t.toDoubles()) {
      all.add(v);
    }
    return all;
  }

  @Test
  void modelOfMillracePredictsTheSameInPython() throws IOException {
    Path vocabulary = Files.writeString(folder.resolve("words.txt"), "a.org\nb.org\nc.org\n");
    Scope scope = Scope.of(StandardOps.newGraph());
    VariableScope variables = VariableScope.of(scope);
    Output word = Placeholder.of(scope.withName("word"), DType.STRING, Shape.of(-1));
    Output price = Placeholder.of(scope.withName("price"), DType.FLOAT, Shape.of(-1));
    Output table =
        scope
            .withName("words")
            .node("HashTableV2")
            .attr("shared_name", "words")
            .attr("key_dtype", DType.STRING)
            .attr("value_dtype", DType.INT64)
            .add()
            .output();
    scope
        .withName("fill")
        .node("InitializeTableFromTextFileV2")
        .input(table)
        .input(Const.of(scope, vocabulary.toString()))
        .attr("key_index", -2)
        .attr("value_index", -1)
        .add();
    Output id =
        scope
            .node("LookupTableFindV2")
            .input(table)
            .input(word)
            .input(Const.of(scope, 3L))
            .attr("Tout", DType.INT64)
            .add()
            .output();
    Output rows =
        Embedding.lookup(
            scope,
            variables.variable(
                "embedding", DType.FLOAT, Shape.of(4, 4), Initializers.glorotUniform()),
            id);
    Output x = Concat.of(scope, List.of(rows, ExpandDims.of(scope, price, 1)), 1);
    Output click = Unary.sigmoid(scope, Dense.of(variables, "out", x, 1));
    Path model = folder.resolve("model");
    List<Double> expected;
    try (Session session = new LocalSession(scope.graph())) {
      session.run(Variables.initializer(scope));
      session.run(scope.graph().node("fill"));
      SavedModel.export(
          session,
          scope.graph(),
          model,
          new SavedModel.Signature(Map.of("word", word, "price", price), Map.of("click", click)));
      try (Tensor w = Tensor.vector("a.org", "c.org", "elsewhere");
          Tensor p = Tensor.vector(.5f, 2, -1);
          Tensor out = session.fetch(click, Map.of(word, w, price, p))) {
        expected = doubles(out);
      }
    }
    Files.delete(vocabulary);
    String said = PythonTensorFlow.find().run("serving_reads.py", List.of(model.toString()), LIMIT);
    Map<String, List<Double>> found = new HashMap<>();
    for (String line : said.strip().split("\n")) {
      String[] parts = line.split(" ");
      List<Double> v = new ArrayList<>();
      for (int i = 1; i < parts.length; i++) {
        v.add(Double.valueOf(parts[i]));
      }
      found.put(parts[0], v);
    }
    assertClose("tf2", expected, found.get("tf2"));
    assertClose("tf1", expected, found.get("tf1"));
  }
}
