package dev.millrace.job;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.job.ending.StopSwitch;
import dev.millrace.ops.StandardOps;
import dev.millrace.train.hook.SessionFactory;
import dev.millrace.train.job.JobEnd;
import dev.millrace.train.job.ServerSummaries;
import dev.millrace.train.job.StopRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * The role of a parameter server, which neither knows the model nor reads the data.
 *
 * <p>Threading: several threads may serve by one of these, each as another task.
 *
 * @param folder where its summaries go; null for nowhere
 * @param stop tells it to stop
 */
record ParameterServer(Path folder, StopSwitch stop) {
  private static final Duration LEAVE = Duration.ofSeconds(10);
  private static final Duration SUMMARIES_EVERY = Duration.ofSeconds(10);

  /** Is parameter server {@code id} until the chief is done; fails if the job has failed. */
  void serve(ClusterSpec cluster, TaskId id) {
    try (Server server = Server.start(cluster, id, StandardOps.registry());
        ServerSummaries _ = summaries(id)) {
      SessionFactory both =
          graph ->
              new ClusterSession(
                  graph, server.target(), Trainer.reaching(Trainer.FIRST_PS, id.name()));
      stop.onRaise(
          () -> {
            // Without workers nobody saves, and nothing is to be waited for.
            if (server.servesOthers()) {
              StopRequest.raise(StandardOps.registry(), both);
            } else {
              stop.nothingToSave();
            }
          });
      SessionFactory own =
          graph -> new ClusterSession(graph, server.target(), Trainer.reaching(id.name()));
      List<String> replicas = cluster.replicas().stream().map(TaskId::toString).toList();
      checkEndedWell(
          JobEnd.await(
              StandardOps.registry(), own, id.index(), replicas, LEAVE, Platform.system()));
    }
  }

  private ServerSummaries summaries(TaskId id) {
    return folder == null ? null : new ServerSummaries(folder, id.toString(), SUMMARIES_EVERY);
  }

  /** Fails if the job has not ended well. */
  static void checkEndedWell(JobEnd.Outcome outcome) {
    if (outcome.isStopped()) {
      throw TrainingTask.stopped();
    }
    if (outcome.cause() != null) {
      throw new MillraceException(Code.ABORTED, "The job failed: " + outcome.cause());
    }
  }
}
