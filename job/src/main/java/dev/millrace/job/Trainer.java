package dev.millrace.job;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.collective.Ring;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Scope;
import dev.millrace.job.ending.StopSwitch;
import dev.millrace.job.flags.ProgramFlags;
import dev.millrace.job.report.Progress;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.ConfigProto;
import dev.millrace.ring.RingOps;
import dev.millrace.ring.RingSettings;
import dev.millrace.runtime.LocalSession;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.job.JobEnd;
import dev.millrace.train.job.StopRequest;
import dev.millrace.train.sync.StalenessHook;
import java.util.List;

/**
 * The roles a process can have in a job: all of it, a worker or a rank. They differ in how the
 * graph is placed and in the hooks that belong to that; the rest is the same.
 *
 * <p>Threading: several threads may have a role each by one of these.
 */
final class Trainer {
  static final String FIRST_PS = "/job:ps/task:0";

  private final JobSpec job;
  private final ProgramFlags flags;
  private final TrainingPlan settings;
  private final Dataset data;
  private final Dataset evaluation;
  private final StopSwitch stop;
  private final Progress progress;

  /**
   * Roles of a job.
   *
   * @param evaluation null for none
   */
  Trainer(
      JobSpec job,
      ProgramFlags flags,
      TrainingPlan settings,
      Dataset data,
      Dataset evaluation,
      StopSwitch stop,
      Progress progress) {
    this.job = job;
    this.flags = flags;
    this.settings = settings;
    this.data = data;
    this.evaluation = evaluation;
    this.stop = stop;
    this.progress = progress;
  }

  private TrainingTask task(
      Scope scope, int index, int workers, boolean ring, Cooperation.Around around, Progress p) {
    return new TrainingTask(
        job, flags, settings, scope, index, workers, ring, around, data, evaluation, stop, p);
  }

  private Graph seeded(Graph graph) {
    graph.setSeed(settings.seed());
    return graph;
  }

  /** Trains in this process alone. */
  JobResult local() {
    Scope scope = Scope.of(seeded(StandardOps.newGraph()));
    TrainingTask task = task(scope, 0, 1, false, Cooperation::none, progress);
    StopRequest request = new StopRequest(scope, "", true);
    stop.onRaise(request::raise);
    task.add(request);
    task.writeEnd("worker/0");
    return task.train(LocalSession::new, task.settings(), request::isRaised);
  }

  /** Trains as one rank of a ring; rank 0 has the result, others null. */
  JobResult rank(Ring ring) {
    Scope scope = Scope.of(seeded(RingOps.newGraph(ring)));
    // Ranks make every step together: what the first one shows is true of all.
    Progress shown = ring.rank() == 0 ? progress : null;
    try {
      TrainingTask task =
          task(scope, ring.rank(), ring.size(), true, Cooperation.ring(ring), shown);
      task.writeEnd("rank/0");
      return task.train(
          LocalSession::new, RingSettings.of(ring, scope, task.settings()), stop::isRaised);
    } catch (MillraceException e) {
      if (e.code() != Code.CANCELLED) {
        ring.abort(e);
      }
      throw e;
    } catch (RuntimeException e) {
      ring.abort(e);
      throw e;
    }
  }

  /** Is {@code id}, the chief or a worker; the chief has the result, others null. */
  JobResult work(ClusterSpec cluster, TaskId id, boolean quiet) {
    List<TaskId> replicas = cluster.replicas();
    int index = replicas.indexOf(id);
    int servers = cluster.tasks("ps").size();
    Scope scope =
        Scope.of(seeded(StandardOps.newGraph()))
            .withDevice(ReplicaDeviceSetter.of(servers, id.name()));
    TrainingTask task =
        task(
            scope,
            index,
            replicas.size(),
            false,
            Cooperation.ofWorker(settings, index, replicas.size()),
            index == 0 ? progress : quiet ? null : progress.ofWorker());
    if (settings.mode() != Mode.SYNC) {
      task.add(new StalenessHook(task.step()));
    }
    StopRequest request = new StopRequest(scope, FIRST_PS, index == 0);
    stop.onRaise(request::raise);
    task.endWithOthers(request, FIRST_PS, replicas.size());
    task.add(JobEnd.hook(scope, servers, id.toString(), task::isStopped));
    task.writeEnd(id.toString());
    // A worker needs the parameter servers and itself, not the other workers.
    ConfigProto config = reaching("/job:ps", id.name());
    try (Server server = Server.start(cluster, id, StandardOps.registry())) {
      return task.train(
          graph -> new ClusterSession(graph, server.target(), config),
          task.settings().withChiefName(replicas.getFirst().toString()).withTaskName(id.toString()),
          () -> request.isRaised() && !request.isFinished());
    }
  }

  /** A configuration of sessions that need {@code tasks} alone. */
  static ConfigProto reaching(String... tasks) {
    return ConfigProto.newBuilder().addAllDeviceFilters(List.of(tasks)).build();
  }
}
