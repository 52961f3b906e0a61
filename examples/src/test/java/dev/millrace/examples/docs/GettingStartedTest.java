package dev.millrace.examples.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.HeldPorts;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.storage.checkpoint.BundleReader;
import dev.millrace.storage.checkpoint.CheckpointStateFile;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.hook.StopAtStepHook;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.VariableScope;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The samples of getting-started.md. */
class GettingStartedTest {
  @Test
  void aGraphRunsInThisProcess() {
    // sample graph
    Graph graph = StandardOps.newGraph();
    Scope scope = Scope.of(graph);
    Output x = Placeholder.of(scope, DType.FLOAT, Shape.of(-1));
    Output y = Arithmetic.add(scope, Arithmetic.mul(scope, x, x), Const.of(scope, 1f));
    try (Session session = new LocalSession(graph)) {
      Tensor result = session.fetch(y, Map.of(x, Tensor.vector(1f, 2f, 3f)));
      System.out.println(result); // float[3] {2.0, 5.0, 10.0}
    }
    // end
    try (Session session = new LocalSession(graph);
        Tensor result = session.fetch(y, Map.of(x, Tensor.vector(1f, 2f, 3f)))) {
      assertEquals("float[3] {2.0, 5.0, 10.0}", result.toString());
    }
  }

  @Test
  void aGraphRunsOnTwoTasks() {
    String seven;
    try (HeldPorts ports = HeldPorts.take(2)) {
      String first = ports.addresses().get(0);
      String second = ports.addresses().get(1);
      // sample cluster
      ClusterSpec cluster = ClusterSpec.of(Map.of("worker", List.of(first, second)));
      Graph graph = StandardOps.newGraph();
      Scope scope = Scope.of(graph);
      Output three = Const.of(scope.withDevice("/job:worker/task:0"), 3f);
      Output four = Const.of(scope.withDevice("/job:worker/task:1"), 4f);
      Output sum = Arithmetic.add(scope.withDevice("/job:worker/task:1"), three, four);
      try (Server task0 = Server.start(cluster, new TaskId("worker", 0), StandardOps.registry());
          Server task1 = Server.start(cluster, new TaskId("worker", 1), StandardOps.registry());
          Session session = new ClusterSession(graph, task0.target())) {
        seven = session.fetch(sum) + " by " + task0.task() + " and " + task1.task();
      }
      // end
    }
    assertEquals("float[] 7.0 by worker/0 and worker/1", seven);
  }

  @Test
  void trainingGoesOnFromItsCheckpoint(@TempDir Path folder) {
    train(folder, 100);
    train(folder, 200);
    // sample checkpoint
    Path checkpoint = CheckpointStateFile.latest(folder).orElseThrow();
    try (BundleReader reader = new BundleReader(checkpoint)) {
      System.out.println(reader.names()); // [global_step, line/bias, line/kernel]
      System.out.println(reader.read("line/kernel")); // close to 2
    }
    // end
    assertEquals("model.ckpt-200", checkpoint.getFileName().toString());
    try (BundleReader reader = new BundleReader(checkpoint)) {
      assertEquals(List.of("global_step", "line/bias", "line/kernel"), reader.names());
      assertEquals(2, reader.read("line/kernel").doubleAt(0), .05);
      assertEquals(-1, reader.read("line/bias").doubleAt(0), .05);
    }
  }

  private static void train(Path folder, long lastStep) {
    // sample training
    Scope scope = Scope.of(StandardOps.newGraph());
    VariableScope model = VariableScope.of(scope);
    Output x = Placeholder.of(scope, DType.FLOAT, Shape.of(-1, 1));
    Output y = Placeholder.of(scope, DType.FLOAT, Shape.of(-1, 1));
    Output loss = Losses.meanSquaredError(scope, Dense.of(model, "line", x, 1), y);
    GraphVariable step = GlobalStep.of(model);
    Node train = new GradientDescent(.1f).minimize(scope, loss, step);

    TrainingSettings settings =
        TrainingSettings.DEFAULT.withFolder(folder).withHooks(StopAtStepHook.at(step, lastStep));
    Tensor xs = Tensor.of(Shape.of(3, 1), -1f, 0f, 1f);
    Tensor ys = Tensor.of(Shape.of(3, 1), -3f, -1f, 1f); // y = 2 x - 1
    try (var session = MonitoredTrainingSession.start(scope, LocalSession::new, settings)) {
      session.loop(s -> s.run(Map.of(x, xs, y, ys), train));
    }
    // end
  }
}
