package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.runtime.LocalSession;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.GraphSummaries;
import dev.millrace.train.hook.StopAtStepHook;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** TensorBoard itself, asked over HTTP, shows what training writes. */
@NeedsPython
class TensorBoardTest {
  private static final Pattern ADDRESS = Pattern.compile("(http://localhost:\\d+/)");
  private static final Duration LIMIT = Duration.ofMinutes(3);

  @TempDir Path folder;

  @Test
  void tensorBoardShowsScalarsHistogramsImagesTextAndGraph() throws Exception {
    train(folder.resolve("run"));
    Path log = folder.resolve("tensorboard.log");
    Process board =
        PythonTensorFlow.find()
            .start(
                List.of(
                    "-m",
                    "tensorboard.main",
                    "--logdir=" + folder,
                    "--port=0",
                    "--host=localhost",
                    "--load_fast=false"),
                log);
    try {
      String address = address(log, board);
      String scalars = await(address + "data/plugin/scalars/tags", "\"loss\"");
      assertTrue(scalars.contains("global_step/sec"), scalars);
      assertTrue(await(address + "data/plugin/histograms/tags", "weights").contains("run"));
      assertTrue(await(address + "data/plugin/images/tags", "picture").contains("run"));
      assertTrue(await(address + "data/plugin/text/tags", "note").contains("run"));
      String points = await(address + "data/plugin/scalars/scalars?tag=loss&run=run", "[");
      assertTrue(points.split("\\],").length >= 5, points);
      String run = URLEncoder.encode("run", StandardCharsets.UTF_8);
      assertTrue(
          await(address + "data/plugin/graphs/graph?run=" + run, "node")
              .contains("GradientDescent"));
    } finally {
      board.destroy();
      board.waitFor();
    }
  }

  private static void train(Path run) {
    Scope scope = Scope.of(new Graph(StandardOps.registry()));
    GraphVariable step = GlobalStep.of(scope);
    GraphVariable w = VariableScope.of(scope).variable("w", Shape.of(8), Initializers.constant(2));
    Output loss = Arithmetic.mul(scope, w.read(), w.read());
    Output mean = dev.millrace.ops.math.Reduction.mean(scope, loss, 0);
    GraphSummaries.scalar(scope, "loss", mean);
    GraphSummaries.histogram(scope, "weights", w.read());
    Tensor pixels = Tensor.allocate(DType.FLOAT, Shape.of(1, 4, 4, 1));
    pixels.setDouble(5, 1);
    GraphSummaries.image(scope, "picture", Const.of(scope, pixels));
    GraphSummaries.text(scope, "note", Const.of(scope, "*trained* by Millrace"));
    var train = new GradientDescent(.1f).minimize(scope, mean, step);
    TrainingSettings settings =
        TrainingSettings.DEFAULT
            .withFolder(run)
            .withSummariesEverySteps(1)
            .withLogEverySteps(2)
            .withHooks(StopAtStepHook.at(step, 6));
    try (var s = MonitoredTrainingSession.start(scope, LocalSession::new, settings)) {
      s.loop(t -> t.run(Map.of(), List.of(), List.of(train)));
    }
  }

  private static String address(Path log, Process board) throws IOException, InterruptedException {
    long end = System.nanoTime() + LIMIT.toNanos();
    while (System.nanoTime() < end && board.isAlive()) {
      Matcher m = ADDRESS.matcher(Files.readString(log));
      if (m.find()) {
        return m.group(1);
      }
      Thread.sleep(200);
    }
    throw new AssertionError("TensorBoard did not start: " + Files.readString(log));
  }

  /** What an address answers once it contains {@code needed}: TensorBoard loads files by and by. */
  private static String await(String address, String needed)
      throws IOException, InterruptedException {
    try (HttpClient client = HttpClient.newHttpClient()) {
      HttpRequest request =
          HttpRequest.newBuilder(URI.create(address)).timeout(Duration.ofSeconds(60)).build();
      long end = System.nanoTime() + LIMIT.toNanos();
      String last = "";
      while (System.nanoTime() < end) {
        HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
        last = answer.body();
        if (answer.statusCode() == 200 && last.contains(needed)) {
          return last;
        }
        Thread.sleep(500);
      }
      throw new AssertionError(address + " does not contain '" + needed + "' but: " + last);
    }
  }
}
