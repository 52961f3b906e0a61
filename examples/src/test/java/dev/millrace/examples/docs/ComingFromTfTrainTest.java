package dev.millrace.examples.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cluster.HeldPorts;
import dev.millrace.cluster.InProcessCluster;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.flow.Conditional;
import dev.millrace.ops.flow.WhileLoop;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.GraphSummaries;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.checkpoint.Saver;
import dev.millrace.train.checkpoint.SaverOptions;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Datasets;
import dev.millrace.train.data.Elements;
import dev.millrace.train.hook.SessionRunArgs;
import dev.millrace.train.hook.SessionRunContext;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.SessionRunValues;
import dev.millrace.train.hook.StopAtStepHook;
import dev.millrace.train.job.JobEnd;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.layers.Losses;
import dev.millrace.train.optimizer.Adam;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.sync.SyncReplicasOptimizer;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The samples of coming-from-tf-train.md. */
class ComingFromTfTrainTest {
  @Test
  void aServerIsStarted() {
    try (HeldPorts ports = HeldPorts.take(2)) {
      String psHosts = ports.addresses().get(0);
      String workerHosts = ports.addresses().get(1);
      String jobName = "worker";
      int taskIndex = 0;
      // sample server
      ClusterSpec cluster = ClusterSpec.ofHosts(Map.of("ps", psHosts, "worker", workerHosts));
      Server server = Server.start(cluster, new TaskId(jobName, taskIndex), StandardOps.registry());
      // end
      try (server) {
        assertEquals("grpc://" + workerHosts, server.target());
      }
    }
  }

  @Test
  void loopsAndBranchesHaveGradients() {
    Scope scope = Scope.of(StandardOps.newGraph());
    Output n = Const.of(scope, 3);
    Output x = Const.of(scope, -2f);
    // sample flow
    Output y =
        WhileLoop.of(
                scope,
                List.of(Const.of(scope, 0), x),
                (s, v) -> Comparisons.less(s, v.get(0), n),
                (s, v) ->
                    List.of(
                        Arithmetic.add(s, v.get(0), Const.of(s, 1)),
                        s.node("Sin").input(Arithmetic.mul(s, v.get(1), x)).add().output()))
            .get(1);
    Output negative = Comparisons.less(scope, y, Const.of(scope, 0f));
    Output z =
        Conditional.of(
                scope,
                negative,
                List.of(y, x),
                (s, in) -> List.of(Arithmetic.mul(s, in.get(0), in.get(0))),
                (s, in) -> List.of(in.get(1)))
            .getFirst();
    Output dx = Gradients.dense(scope, Gradients.of(scope, List.of(z), List.of(x)).getFirst());
    // end
    double v = -2;
    double dv = 1;
    for (int i = 0; i < 3; i++) {
      dv = Math.cos(v * -2) * (dv * -2 + v);
      v = Math.sin(v * -2);
    }
    try (LocalSession session = new LocalSession(scope.graph())) {
      assertEquals(v, session.fetch(y).floatValue(), 1e-5);
      assertEquals(v < 0 ? 2 * v * dv : 1, session.fetch(dx).floatValue(), 1e-4);
    }
  }

  @Test
  void workersTrainSynchronously(@TempDir Path folder) {
    try (InProcessCluster cluster =
        InProcessCluster.start(Map.of("ps", 1, "worker", 1), StandardOps.registry())) {
      Server server = cluster.server("worker", 0);
      int taskIndex = 0;
      int workers = 1;
      boolean chief = true;
      Tensor xs = Tensor.of(Shape.of(2, 1), 0f, 1f);
      Tensor ys = Tensor.of(Shape.of(2, 1), 1f, 3f);
      // sample placement
      String self = "/job:worker/task:" + taskIndex;
      Scope scope = Scope.of(StandardOps.newGraph()).withDevice(ReplicaDeviceSetter.of(1, self));
      // end
      // sample model
      VariableScope model = VariableScope.of(scope);
      Output x = Placeholder.of(scope, DType.FLOAT, Shape.of(-1, 1));
      Output y = Placeholder.of(scope, DType.FLOAT, Shape.of(-1, 1));
      Output prediction = Dense.of(model, "line", x, 1);
      Output loss = Losses.meanSquaredError(scope, prediction, y);
      GraphSummaries.scalar(scope, "loss", loss);
      GraphVariable step = GlobalStep.of(model);
      // end
      // sample sync
      SyncReplicasOptimizer optimizer =
          new SyncReplicasOptimizer(new GradientDescent(.1f), workers, workers);
      Node train = optimizer.minimize(scope, loss, step);
      // end
      // sample monitored
      TrainingSettings settings =
          TrainingSettings.DEFAULT
              .withChief(chief)
              .withFolder(folder)
              .withHooks(
                  optimizer.hook(chief),
                  StopAtStepHook.at(step, 50),
                  JobEnd.hook(scope, 1, taskIndex));
      try (var session =
          MonitoredTrainingSession.start(
              scope, graph -> server.session(graph, "/job:ps", self), settings)) {
        session.loop(s -> s.run(Map.of(x, xs, y, ys), train));
      }
      // end
      Server ps = cluster.server("ps", 0);
      // sample ps
      JobEnd.Outcome outcome =
          JobEnd.await(StandardOps.registry(), g -> ps.session(g, "/job:ps"), 0, workers);
      // end
      assertEquals(0, outcome.exitCode(), outcome.cause());
      assertTrue(Files.exists(folder.resolve("model.ckpt-50.index")), "no checkpoint");
    }
  }

  // sample hook
  /** Calls for an end when the loss is small enough. */
  static final class EarlyStop implements SessionRunHook {
    private final Output loss;

    EarlyStop(Output loss) {
      this.loss = loss;
    }

    @Override
    public SessionRunArgs beforeRun(SessionRunContext context) {
      return SessionRunArgs.fetching(loss);
    }

    @Override
    public void afterRun(SessionRunContext context, SessionRunValues values) {
      if (values.value(loss).floatValue() < .01f) {
        context.requestStop();
      }
    }
  }

  // end

  @Test
  void hooksSeeValuesAndAskForAnEnd() {
    Scope scope = Scope.of(StandardOps.newGraph());
    VariableScope model = VariableScope.of(scope);
    Output x = Placeholder.of(scope, DType.FLOAT, Shape.of(-1, 1));
    Output loss = Losses.meanSquaredError(scope, Dense.of(model, "zero", x, 1), x);
    // sample optimizer
    Node train = new Adam(.1f).minimize(scope, loss, GlobalStep.of(model));
    // end
    try (Tensor one = Tensor.of(Shape.of(1, 1), 1f);
        var session =
            MonitoredTrainingSession.start(
                scope,
                LocalSession::new,
                TrainingSettings.DEFAULT.withHooks(new EarlyStop(loss)))) {
      session.loop(s -> s.run(Map.of(x, one), train));
      assertTrue(session.shouldStop());
    }
  }

  @Test
  void aSaverSavesAndRestores(@TempDir Path folder) {
    Scope scope = Scope.of(StandardOps.newGraph());
    // sample variables
    VariableScope model = VariableScope.of(scope).withSubScope("model");
    GraphVariable w = model.variable("w", Shape.of(2, 3)); // glorot uniform
    GraphVariable b = model.startingWith("b", Tensor.vector(1f, 2f, 3f));
    // end
    // sample saver
    Saver saver = Saver.of(scope, SaverOptions.DEFAULT.withMaxToKeep(3));
    Node init = Variables.initializer(scope);
    try (Session session = new LocalSession(scope.graph())) {
      session.run(init);
      Path saved = saver.save(session, folder.resolve("model.ckpt"), 100L);
      saver.restore(session, saved);
      System.out.println(session.fetch(b.read())); // float[3] {1.0, 2.0, 3.0}
    }
    // end
    assertTrue(Files.exists(folder.resolve("model.ckpt-100.index")));
    assertEquals("model/w", w.name());
  }

  @Test
  void dataComesInBatches() {
    Tensor images = Tensor.of(Shape.of(6, 2), new float[12]);
    Tensor labels = Tensor.vector(0L, 1L, 2L, 3L, 4L, 5L);
    int workers = 2;
    int taskIndex = 1;
    List<Shape> seen = new ArrayList<>();
    // sample dataset
    Dataset dataset =
        Datasets.rows(images, labels) // or records, idx, CsvFiles.read
            .shard(workers, taskIndex)
            .shuffle(1000, 7)
            .batch(3, true)
            .repeat(2)
            .prefetch(2);
    try (Elements batches = dataset.elements()) {
      for (Tensor[] batch = batches.next(); batch != null; batch = batches.next()) {
        seen.add(batch[0].shape());
      }
    }
    // end
    assertEquals(List.of(Shape.of(3, 2), Shape.of(3, 2)), seen);
  }
}
