package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Reduction;
import dev.millrace.ops.math.Unary;
import dev.millrace.proto.ConfigProto;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.checkpoint.CheckpointFolder;
import dev.millrace.train.hook.StopAtStepHook;
import dev.millrace.train.job.JobEnd;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.sync.SyncReplicasHook;
import dev.millrace.train.sync.SyncReplicasOptimizer;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A worker of Millrace and one of TensorFlow, with its own SyncReplicasOptimizer and
 * MonitoredTrainingSession, train one model together on a parameter server of either, whichever of
 * them is the chief; a parameter server of Millrace leaves when both are done.
 */
@NeedsPython
class MixedSyncTrainingTest {
  private static final int STEPS = 15;
  private static final Duration LIMIT = Duration.ofMinutes(4);

  @TempDir Path folder;

  // README claim: tf-training
  @Test
  void millraceIsTheChiefOfATensorFlowWorker() throws Exception {
    trainOnMillrace(0);
  }

  // README claim: tf-training
  @Test
  void tensorFlowIsTheChiefOfAMillraceWorker() throws Exception {
    trainOnMillrace(1);
  }

  @Test
  void millraceIsTheChiefOnAParameterServerOfTensorFlow() throws Exception {
    trainOnTensorFlow(0);
  }

  @Test
  void tensorFlowIsTheChiefOnAParameterServerOfTensorFlow() throws Exception {
    trainOnTensorFlow(1);
  }

  private void trainOnTensorFlow(int own) throws Exception {
    try (LoopbackCluster cluster = LoopbackCluster.psAndWorkers(1, 2);
        TensorFlowServer _ = TensorFlowServer.start(cluster, "ps", 0)) {
      train(cluster, own);
    }
  }

  private void trainOnMillrace(int own) throws Exception {
    try (LoopbackCluster cluster = LoopbackCluster.psAndWorkers(1, 2);
        Server ps =
            Server.start(
                ClusterSpec.decode(cluster.definition()),
                new TaskId("ps", 0),
                StandardOps.registry())) {
      ConfigProto alone = ConfigProto.newBuilder().addDeviceFilters("/job:ps/task:0").build();
      CompletableFuture<JobEnd.Outcome> outcome =
          CompletableFuture.supplyAsync(
              () ->
                  JobEnd.await(
                      StandardOps.registry(),
                      g -> new ClusterSession(g, ps.target(), alone),
                      0,
                      2,
                      Duration.ofSeconds(60)));
      train(cluster, own);
      assertEquals(0, outcome.get(60, TimeUnit.SECONDS).exitCode());
    }
  }

  /** Trains with Millrace as worker number {@code own} of two. */
  private void train(LoopbackCluster cluster, int own) throws Exception {
    Path log = folder.resolve("python.log");
    List<String> arguments = new ArrayList<>();
    arguments.add(cluster.address("ps", 0));
    arguments.add(cluster.address("worker", 0) + "," + cluster.address("worker", 1));
    arguments.addAll(List.of("" + (1 - own), "2", "" + STEPS));
    if (own == 1) {
      arguments.add(folder.resolve("theirs").toString());
    }
    Process python = PythonTensorFlow.find().startScript("sync_worker.py", arguments, log);
    try {
      work(ClusterSpec.decode(cluster.definition()), own);
      assertTrue(python.waitFor(LIMIT.toMillis(), TimeUnit.MILLISECONDS), "Python goes on");
      assertEquals(0, python.exitValue(), Files.readString(log));
    } finally {
      python.destroyForcibly().waitFor();
    }
    if (own == 1) {
      assertTrue(CheckpointFolder.latest(folder.resolve("theirs")).isPresent());
    }
  }

  private void work(ClusterSpec spec, int own) {
    TaskId task = new TaskId("worker", own);
    try (Server server = Server.start(spec, task, StandardOps.registry())) {
      Scope scope =
          Scope.of(new Graph(StandardOps.registry()))
              .withDevice(ReplicaDeviceSetter.of(1, "/job:worker/task:" + own));
      GraphVariable step = GlobalStep.of(scope);
      GraphVariable w = VariableScope.of(scope).variable("w", Shape.scalar(), Initializers.zeros());
      Output x = Placeholder.of(scope.withName("x"), DType.FLOAT, Shape.of(-1));
      Output apart =
          Arithmetic.sub(scope, Arithmetic.mul(scope, w.read(), x), Arithmetic.scaled(scope, x, 3));
      Output loss = Reduction.mean(scope, Unary.square(scope, apart), 0);
      SyncReplicasOptimizer optimizer = new SyncReplicasOptimizer(new GradientDescent(.05f), 2);
      Node train = optimizer.minimize(scope, loss, step);
      SyncReplicasHook hook = optimizer.hook(own == 0);
      ConfigProto config =
          ConfigProto.newBuilder()
              .addDeviceFilters("/job:ps")
              .addDeviceFilters("/job:worker/task:" + own)
              .build();
      TrainingSettings settings =
          TrainingSettings.DEFAULT
              .withChief(own == 0)
              .withFolder(own == 0 ? folder.resolve("ours") : null)
              .withLogEverySteps(0)
              .withMaxWait(LIMIT)
              .withStepTimeout(LIMIT)
              .withHooks(hook, StopAtStepHook.at(step, STEPS), JobEnd.hook(scope, 1, own));
      try (var s =
          MonitoredTrainingSession.start(
              scope, g -> new ClusterSession(g, server.target(), config), settings)) {
        s.loop(
            t -> {
              try (Tensor batch = Tensor.vector(1f, 2f)) {
                t.run(Map.of(x, batch), List.of(), List.of(train));
              }
            });
      }
      assertTrue(hook.staleness().count() > STEPS / 3, hook.staleness().toString());
    }
  }
}
