package dev.millrace.examples.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.serving.Prediction;
import dev.millrace.serving.Predictor;
import dev.millrace.serving.server.ModelServer;
import dev.millrace.serving.server.ModelServerOptions;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.train.checkpoint.SavedModel;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The samples of serving.md. */
class ServingPageTest {
  @TempDir Path models;

  @Test
  void exportPredictServe() {
    Graph graph = StandardOps.newGraph();
    Scope scope = Scope.of(graph);
    Output price = Placeholder.of(scope.withName("price"), DType.FLOAT, Shape.of(-1));
    GraphVariable w =
        VariableScope.of(scope).variable("w", Shape.scalar(), Initializers.constant(2));
    Output click = Arithmetic.mul(scope, price, w.read());
    try (Session session = new LocalSession(graph)) {
      session.run(Variables.initializer(scope));
      // sample export
      SavedModel.export(
          session,
          graph,
          models.resolve("ctr/1"),
          new SavedModel.Signature(Map.of("price", price), Map.of("click", click)));
      // end
    }
    // sample predict
    try (Predictor predictor = Predictor.load(models.resolve("ctr/1"));
        Prediction prediction = predictor.predictRow(Map.of("price", 1.5))) {
      System.out.println(prediction.only());
    }
    // end
    try (Predictor predictor = Predictor.load(models.resolve("ctr/1"));
        Prediction prediction = predictor.predictRow(Map.of("price", 1.5))) {
      assertEquals(3, prediction.only().floatValue());
    }
    ModelServerOptions any =
        ModelServerOptions.of(Map.of("ctr", models.resolve("ctr"))).withPorts(0, 0);
    // sample serve
    try (ModelServer server = ModelServer.start(any)) {
      System.out.println("REST on " + server.restPort() + ", gRPC on " + server.grpcPort());
      server.stop(Duration.ofSeconds(20));
    }
    // end
  }
}
