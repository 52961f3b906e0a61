package dev.millrace.interop.failure;

import dev.millrace.base.MillraceException;
import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.interop.ChildProcess;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.proto.ConfigProto;
import dev.millrace.proto.ServerDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.hook.NanTensorHook;
import dev.millrace.train.hook.SessionFactory;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.job.JobEnd;
import dev.millrace.train.job.StopRequest;
import dev.millrace.train.job.Termination;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.sync.BoundedStaleness;
import dev.millrace.train.sync.SyncReplicasOptimizer;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * The program of one task of a small job: a parameter server, or a worker that trains until the job
 * is asked to stop. Every step adds exactly 1 to the variable {@code w}, so that it tells how many
 * steps the model has seen. A worker reports each step as {@code step N}.
 *
 * <p>Arguments: the server's definition; {@code async}, {@code bounded} or {@code sync}, followed
 * by how many gradients are waited for if not all workers'; the chief's folder; how many
 * milliseconds a step takes. The line {@code nan} on standard input makes a worker's next loss NaN,
 * {@code last N} makes global step N the last.
 */
final class TrainingTask {
  private static final Duration GRACE = Duration.ofSeconds(60);
  private static final Duration LEAVE = Duration.ofSeconds(20);
  private static final long SAVE_EVERY = 20;

  /**
   * Steps that a worker in bounded mode may be ahead, and how long it waits for one that is lost.
   */
  private static final int BOUND = 4;

  private static final Duration BOUND_PATIENCE = Duration.ofSeconds(2);

  /** Elements of a variable that is not trained but makes a save take its time. */
  private static final int BALLAST = 1 << 20;

  private final Server server;
  private final int index;
  private final long pauseNanos;
  private volatile float input = 1;
  private volatile long lastStep = Long.MAX_VALUE;

  private TrainingTask(Server server, long pauseMillis) {
    this.server = server;
    this.index = server.task().index();
    this.pauseNanos = pauseMillis * 1_000_000;
  }

  static void main(String[] args) throws IOException {
    ServerDef definition = ServerDef.parseFrom(Base64.getDecoder().decode(args[0]));
    ClusterSpec spec = ClusterSpec.decode(definition.getCluster());
    TaskId task = new TaskId(definition.getJobName(), definition.getTaskIndex());
    int code;
    try (Server server = Server.start(spec, task, StandardOps.registry())) {
      TrainingTask program = new TrainingTask(server, Long.parseLong(args[3]));
      Thread.ofPlatform().daemon().start(program::listen);
      code = task.job().equals("ps") ? program.serve() : program.work(args[1], Path.of(args[2]));
    }
    Runtime.getRuntime().halt(code);
  }

  /** Ends the process with its parent. */
  private void listen() {
    try (var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        if (line.equals("nan")) {
          input = Float.NaN;
        } else if (line.startsWith("last ")) {
          lastStep = Long.parseLong(line.substring("last ".length()));
        }
      }
    } catch (IOException e) {
      // The same as the end.
    }
    Runtime.getRuntime().halt(3);
  }

  private SessionFactory sessions(String... filters) {
    ConfigProto config = ConfigProto.newBuilder().addAllDeviceFilters(List.of(filters)).build();
    return graph -> new ClusterSession(graph, server.target(), config);
  }

  private int serve() {
    SessionFactory own = sessions("/job:ps/task:0", "/job:ps/task:" + index);
    Termination termination =
        Termination.install(t -> StopRequest.raise(StandardOps.registry(), own), GRACE);
    int workers = server.cluster().tasks("worker").size();
    JobEnd.Outcome outcome = JobEnd.await(StandardOps.registry(), own, index, workers, LEAVE);
    ChildProcess.reply(System.out, "outcome " + outcome.cause());
    termination.finished(outcome.exitCode());
    return outcome.exitCode();
  }

  private int work(String mode, Path folder) {
    boolean chief = index == 0;
    int psTasks = server.cluster().tasks("ps").size();
    int workers = server.cluster().tasks("worker").size();
    Scope scope =
        Scope.of(new Graph(StandardOps.registry()))
            .withDevice(ReplicaDeviceSetter.of(psTasks, "/job:worker/task:" + index));
    GraphVariable step = GlobalStep.of(scope);
    VariableScope variables = VariableScope.of(scope);
    GraphVariable w = variables.variable("w", Shape.scalar(), Initializers.zeros());
    variables
        .withTrainable(false)
        .variable("ballast", Shape.of(BALLAST), Initializers.constant(.5));
    Output x = Placeholder.of(scope.withName("x"), DType.FLOAT, Shape.scalar());
    Output loss = Arithmetic.mul(scope, w.read(), Arithmetic.scaled(scope, x, -1));
    List<SessionRunHook> hooks = new ArrayList<>();
    hooks.add(new NanTensorHook(loss));
    Node train = minimize(mode, scope, loss, step, workers, hooks);
    StopRequest stop = new StopRequest(scope, "/job:ps/task:0", chief);
    hooks.add(stop);
    hooks.add(JobEnd.hook(scope, psTasks, index));
    TrainingSettings settings =
        TrainingSettings.DEFAULT
            .withChief(chief)
            .withFolder(folder)
            .withSaveEverySteps(SAVE_EVERY)
            .withLogEverySteps(0)
            .withMaxWait(Duration.ofSeconds(200))
            .withHooks(hooks.toArray(SessionRunHook[]::new));
    Termination termination = Termination.install(t -> stop.raise(), GRACE);
    int code = 0;
    try (var s =
        MonitoredTrainingSession.start(
            scope, sessions("/job:ps", "/job:worker/task:" + index), settings)) {
      s.loop(t -> step(t, x, step, train));
    } catch (MillraceException e) {
      System.err.println("Training failed: " + e.getMessage());
      code = 1;
    }
    termination.finished(code);
    return code;
  }

  /** Adds the train op of a mode, and the hook it needs. */
  private Node minimize(
      String mode,
      Scope scope,
      Output loss,
      GraphVariable step,
      int workers,
      List<SessionRunHook> hooks) {
    boolean chief = index == 0;
    GradientDescent descent = new GradientDescent(1);
    if (mode.startsWith("sync")) {
      int waitedFor = mode.equals("sync") ? workers : Integer.parseInt(mode.substring(4));
      SyncReplicasOptimizer sync = new SyncReplicasOptimizer(descent, waitedFor, workers);
      Node train = sync.minimize(scope, loss, step);
      hooks.add(sync.hook(chief));
      return train;
    }
    if (mode.equals("bounded")) {
      BoundedStaleness bounded = new BoundedStaleness(descent, workers, index, BOUND);
      Node train = bounded.minimize(scope, loss, step);
      hooks.add(bounded.hook(chief, BOUND_PATIENCE));
      return train;
    }
    return descent.minimize(scope, loss, step);
  }

  private void step(MonitoredTrainingSession session, Output x, GraphVariable step, Node train) {
    try (Tensor value = Tensor.scalar(input);
        Tensor now =
            session.run(Map.of(x, value), List.of(step.read()), List.of(train)).getFirst()) {
      ChildProcess.reply(System.out, "step " + now.longValue());
      if (now.longValue() >= lastStep) {
        session.requestStop();
      }
    }
    LockSupport.parkNanos(pauseNanos);
  }
}
