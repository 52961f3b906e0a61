package dev.millrace.examples.mnist;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.collective.Ring;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.job.Mode;
import dev.millrace.job.report.Progress;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.ConfigProto;
import dev.millrace.ring.DistributedOptimizer;
import dev.millrace.ring.RingOps;
import dev.millrace.ring.RingSettings;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.checkpoint.Saver;
import dev.millrace.train.hook.NanTensorHook;
import dev.millrace.train.hook.SessionFactory;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.StopAtStepHook;
import dev.millrace.train.job.JobEnd;
import dev.millrace.train.job.JobResultFile;
import dev.millrace.train.job.ServerSummaries;
import dev.millrace.train.job.StopRequest;
import dev.millrace.train.job.Termination;
import dev.millrace.train.optimizer.LearningRates;
import dev.millrace.train.optimizer.Optimizer;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.sync.BoundedStaleness;
import dev.millrace.train.sync.StalenessHook;
import dev.millrace.train.sync.SyncReplicasOptimizer;
import dev.millrace.train.variable.GraphVariable;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;

/**
 * Trains on the digits: in one process, as one task of a cluster of parameter servers and workers,
 * or as one rank of a ring. The modes differ in how the graph is placed, in which optimizer stands
 * around the optimizer, and in the hooks that belong to it; the loop is the same.
 */
public final class MnistTraining {
  private static final Duration LEAVE = Duration.ofSeconds(10);
  private static final Duration SUMMARIES_EVERY = Duration.ofSeconds(10);

  /** How long a task that is told to terminate has for the model to be saved. */
  private static final Duration GRACE = Duration.ofSeconds(60);

  private static final String FIRST_PS = "/job:ps/task:0";

  /**
   * What to train and for how long.
   *
   * @param steps global steps, all workers together
   * @param learningRate the step size in the beginning; it falls to 0 towards the end
   * @param workers how many train together; 1 in local mode
   * @param backupWorkers workers whose gradients a synchronous step does not wait for
   * @param bound steps a worker may be ahead of the slowest, in bounded mode
   * @param logDir where checkpoints and summaries go; null for nowhere
   * @param stepTimeout how long a step may take; null for no limit
   * @param saveEvery how often the chief saves
   */
  public record Settings(
      Network network,
      Method method,
      Mode mode,
      long steps,
      int batchSize,
      float learningRate,
      long seed,
      int workers,
      int backupWorkers,
      int bound,
      Path dataDir,
      Path logDir,
      Duration stepTimeout,
      Duration saveEvery) {}

  private final Settings settings;
  private final Progress progress;

  /** Whether training ended because the job was told to stop. */
  private volatile boolean stopped;

  /** Training with these settings, which shows by {@code progress} how it goes. */
  public MnistTraining(Settings settings, Progress progress) {
    this.settings = settings;
    this.progress = progress;
  }

  /** Fails if {@code checkpoint} is not of the model these settings are of. */
  public void check(Path checkpoint) {
    Scope scope = Scope.of(StandardOps.newGraph());
    MnistModel.build(scope, settings.network, this::minimize);
    Saver.of(scope).check(checkpoint);
  }

  /**
   * Stands beside a job and tests every checkpoint it saves, until that of the last step or the end
   * of the job; returns the accuracy of the last one. Fails if the job has failed.
   */
  public double evaluate() {
    return new MnistEvaluator(settings, progress, MnistEvaluator.PATIENCE).follow();
  }

  /** Trains in this process alone; returns the accuracy on the test images. */
  public double local() {
    Scope scope = Scope.of(seeded(StandardOps.newGraph()));
    MnistModel model = MnistModel.build(scope, settings.network, this::minimize);
    StopRequest stop = new StopRequest(scope, "", true);
    return trainUntilTold(stop, model, LocalSession::new, usual(model, true).withHooks(stop), 0);
  }

  /** Trains as one rank of a ring; rank 0 returns the accuracy, others NaN. */
  public double rank(Ring ring) {
    Scope scope = Scope.of(seeded(RingOps.newGraph(ring)));
    MnistModel model =
        MnistModel.build(
            scope,
            settings.network,
            (s, loss, step) ->
                new DistributedOptimizer(ring, optimizer(s, step)).minimize(s, loss, step));
    TrainingSettings own = RingSettings.of(ring, scope, usual(model, ring.rank() == 0));
    return train(() -> false, model, LocalSession::new, own, ring.rank());
  }

  /** Is parameter server {@code index} until the chief is done; fails if the job has failed. */
  public void serve(ClusterSpec cluster, int index) {
    TaskId task = new TaskId("ps", index);
    try (Server server = Server.start(cluster, task, StandardOps.registry());
        ServerSummaries _ = summaries(task)) {
      SessionFactory sessions =
          graph -> new ClusterSession(graph, server.target(), reaching(FIRST_PS, task.name()));
      Termination termination = Termination.install(t -> stopJob(server, sessions, t), GRACE);
      SessionFactory own =
          graph -> new ClusterSession(graph, server.target(), reaching(task.name()));
      List<String> replicas = cluster.replicas().stream().map(TaskId::toString).toList();
      JobEnd.Outcome outcome =
          JobEnd.await(StandardOps.registry(), own, index, replicas, LEAVE, Platform.system());
      termination.finished(outcome.exitCode());
      checkEndedWell(outcome);
    }
  }

  /** Asks the workers to stop. Without any, nobody saves, and nothing is to be waited for. */
  private static void stopJob(Server server, SessionFactory sessions, Termination termination) {
    if (server.worker().servesOthers()) {
      StopRequest.raise(StandardOps.registry(), sessions);
    } else {
      termination.finished(Termination.TERMINATED);
    }
  }

  /** Says how the job ended to whoever waited for it, if not well. */
  static void checkEndedWell(JobEnd.Outcome outcome) {
    if (outcome.isStopped()) {
      throw stopped();
    }
    if (outcome.cause() != null) {
      throw new MillraceException(Code.ABORTED, "The job failed: " + outcome.cause());
    }
  }

  private ServerSummaries summaries(TaskId task) {
    return settings.logDir == null
        ? null
        : new ServerSummaries(settings.logDir, task.toString(), SUMMARIES_EVERY);
  }

  /** Is {@code task}, the chief or a worker; the chief returns the accuracy, others NaN. */
  public double work(ClusterSpec cluster, TaskId task) {
    List<TaskId> replicas = cluster.replicas();
    int index = replicas.indexOf(task);
    boolean chief = index == 0;
    int servers = cluster.tasks("ps").size();
    int workers = replicas.size();
    Scope scope =
        Scope.of(seeded(StandardOps.newGraph()))
            .withDevice(ReplicaDeviceSetter.of(servers, task.name()));
    List<SessionRunHook> hooks = new ArrayList<>();
    MnistModel.TrainOp train =
        switch (settings.mode) {
          case SYNC ->
              (s, loss, step) -> {
                SyncReplicasOptimizer sync =
                    new SyncReplicasOptimizer(
                        optimizer(s, step), workers - settings.backupWorkers, workers);
                Node op = sync.minimize(s, loss, step);
                hooks.add(sync.hook(chief));
                return op;
              };
          case BOUNDED ->
              (s, loss, step) -> {
                BoundedStaleness bounded =
                    new BoundedStaleness(optimizer(s, step), workers, index, settings.bound);
                Node op = bounded.minimize(s, loss, step);
                hooks.add(bounded.hook(chief, Duration.ofMinutes(1)));
                return op;
              };
          default -> this::minimize;
        };
    MnistModel model = MnistModel.build(scope, settings.network, train);
    if (settings.mode != Mode.SYNC) {
      hooks.add(new StalenessHook(model.globalStep()));
    }
    StopRequest stop = new StopRequest(scope, FIRST_PS, chief);
    hooks.add(stop);
    hooks.add(JobEnd.hook(scope, servers, task.toString(), () -> stopped));
    if (chief && settings.logDir != null) {
      hooks.add(new JobResultFile(settings.logDir, task.toString(), () -> stopped));
    }
    // A worker needs the parameter servers and itself, not the other workers.
    ConfigProto config = reaching("/job:ps", task.name());
    try (Server server = Server.start(cluster, task, StandardOps.registry())) {
      return trainUntilTold(
          stop,
          model,
          graph -> new ClusterSession(graph, server.target(), config),
          usual(model, chief)
              .withChiefName(replicas.getFirst().toString())
              .withTaskName(task.toString())
              .withHooks(hooks.toArray(SessionRunHook[]::new)),
          index);
    }
  }

  private Graph seeded(Graph graph) {
    graph.setSeed(settings.seed);
    return graph;
  }

  /** Steps get smaller towards the end, along half a wave of the cosine. */
  private Optimizer optimizer(Scope scope, GraphVariable step) {
    return settings.method.optimizer(
        LearningRates.cosineDecay(scope, settings.learningRate, step, settings.steps, 0));
  }

  private Node minimize(Scope scope, Output loss, GraphVariable step) {
    return optimizer(scope, step).minimize(scope, loss, step);
  }

  private static ConfigProto reaching(String... tasks) {
    return ConfigProto.newBuilder().addAllDeviceFilters(List.of(tasks)).build();
  }

  private TrainingSettings usual(MnistModel model, boolean chief) {
    return TrainingSettings.DEFAULT
        .withChief(chief)
        .withFolder(settings.logDir)
        .withStepTimeout(settings.stepTimeout)
        .withSaveEvery(settings.saveEvery)
        .withHooks(
            new NanTensorHook(model.loss()), StopAtStepHook.at(model.globalStep(), settings.steps));
  }

  /** Trains; when this process is told to terminate, the job stops with a save. */
  private double trainUntilTold(
      StopRequest stop,
      MnistModel model,
      SessionFactory sessions,
      TrainingSettings training,
      int index) {
    Termination termination = Termination.install(t -> stop.raise(), GRACE);
    int code = 1;
    try {
      double accuracy = trainUncancelled(stop::isRaised, model, sessions, training, index);
      if (stopped) {
        code = Termination.TERMINATED;
        throw stopped();
      }
      code = 0;
      return accuracy;
    } finally {
      termination.finished(code);
    }
  }

  /** Reports a cancelled session as a failure; only a stop request ends training normally. */
  private double trainUncancelled(
      BooleanSupplier told,
      MnistModel model,
      SessionFactory sessions,
      TrainingSettings training,
      int index) {
    try {
      return train(told, model, sessions, training, index);
    } catch (MillraceException e) {
      throw e.code() == Code.CANCELLED
          ? new MillraceException(Code.ABORTED, "Training was cancelled: " + e.getMessage(), e)
          : e;
    }
  }

  private static MillraceException stopped() {
    return new MillraceException(
        Code.CANCELLED,
        "The job was told to stop before its last step. Started again with the same --log-dir it"
            + " goes on from its checkpoint.");
  }

  /** Trains as the worker or rank {@code index}; the first one tests. */
  private double train(
      BooleanSupplier told,
      MnistModel model,
      SessionFactory sessions,
      TrainingSettings training,
      int index) {
    MnistData.Batches batches =
        MnistData.train(settings.dataDir).batches(settings.batchSize, settings.seed + index);
    List<Output> seen = List.of(model.loss(), model.globalStep().read());
    boolean first = index == 0;
    // Ranks make every step together: what the first one shows is true of all.
    Progress shown = first ? progress : settings.mode.hasServers() ? progress.ofWorker() : null;
    try (MonitoredTrainingSession session =
        MonitoredTrainingSession.start(model.scope(), sessions, training)) {
      batches.skip(takenBefore(session.raw(), model));
      session.loop(
          s -> {
            Tensor[] batch = batches.next();
            List<Tensor> r =
                s.run(
                    Map.of(model.images(), batch[0], model.labels(), batch[1]),
                    seen,
                    List.of(model.train()));
            if (shown != null) {
              shown.step(r.get(1).longValue(), r.get(0).doubleValue());
            }
            r.forEach(Tensor::close);
            batch[0].close();
            batch[1].close();
          });
      boolean asked = told.getAsBoolean();
      long step = asked || first ? model.stepOf(session.raw()) : settings.steps;
      stopped = asked && step < settings.steps;
      if (shown != null) {
        shown.end(step);
      }
      if (stopped || !first) {
        return Double.NaN;
      }
      return model.accuracyOn(MnistData.test(settings.dataDir), session.raw());
    }
  }

  /** How many batches this worker has taken of its sequence by the step training goes on at. */
  private long takenBefore(Session session, MnistModel model) {
    long step = model.stepOf(session);
    // In the other modes a global step is one of every worker.
    return settings.mode == Mode.ASYNC || settings.mode == Mode.BOUNDED
        ? step / settings.workers
        : step;
  }
}
