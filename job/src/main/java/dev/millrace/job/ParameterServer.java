package dev.millrace.job;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.config.CommandSettings;
import dev.millrace.base.config.Config;
import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.resource.VariableStore;
import dev.millrace.graph.store.ProcessStore;
import dev.millrace.job.ending.StopSwitch;
import dev.millrace.job.flags.ProgramFlags;
import dev.millrace.ops.StandardOps;
import dev.millrace.train.hook.SessionFactory;
import dev.millrace.train.job.JobEnd;
import dev.millrace.train.job.ServerSummaries;
import dev.millrace.train.job.StopRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The role of a parameter server, which neither knows the model nor reads the data.
 *
 * <p>Threading: several threads may serve by one of these, each as another task.
 *
 * @param folder where its summaries go; null for nowhere
 * @param state where its variables outlive it, below this folder; null for nowhere
 * @param stop tells it to stop
 */
record ParameterServer(Path folder, Path state, StopSwitch stop) {
  private static final Logger LOG = LoggerFactory.getLogger(ParameterServer.class);
  private static final Duration LEAVE = Duration.ofSeconds(10);
  private static final Duration SUMMARIES_EVERY = Duration.ofSeconds(10);

  /**
   * The servers of a job.
   *
   * @param together whether they are threads of one process: nothing outlives it
   */
  static ParameterServer of(ProgramFlags flags, boolean together, StopSwitch stop) {
    Path folder = flags.path(JobFlags.LOG_DIR);
    return new ParameterServer(folder, state(flags, folder, together, Config.ofProcess()), stop);
  }

  private static Path state(ProgramFlags flags, Path folder, boolean together, Config config) {
    String kept = flags.text(JobFlags.DURABILITY);
    if (kept == null) {
      kept = config.find(CommandSettings.DURABILITY).orElse("memory");
    }
    if (!List.of("memory", "process").contains(kept)) {
      throw MillraceException.invalid(
          "--%s is '%s'; it must be memory or process.", JobFlags.DURABILITY, kept);
    }
    if (kept.equals("memory") || together) {
      return null;
    }
    Path given = flags.path(JobFlags.STATE_DIR);
    Path state = given != null ? given : config.find(CommandSettings.STATE_DIR).orElse(null);
    if (state == null && folder == null) {
      throw MillraceException.invalid(
          "--%s process needs a folder: add --%s or --%s.",
          JobFlags.DURABILITY, JobFlags.STATE_DIR, JobFlags.LOG_DIR);
    }
    return state != null ? state : folder.resolve("state");
  }

  /** Is parameter server {@code id} until the chief is done; fails if the job has failed. */
  void serve(ClusterSpec cluster, TaskId id) {
    try (ProcessStore store =
        state == null ? null : open(state.resolve(id.job() + "-" + id.index()))) {
      JobEnd.Outcome outcome = serve(cluster, id, store == null ? VariableStore.MEMORY : store);
      if (store != null) {
        // The chief has saved, or has said why not.
        store.delete();
      }
      checkEndedWell(outcome);
    }
  }

  /** The state that an earlier process has left, if it can be used. */
  private static ProcessStore open(Path folder) {
    try {
      ProcessStore store = ProcessStore.open(folder);
      if (store.size() > 0) {
        LOG.info(
            "{} variables have the values they had before this task was started again.",
            store.size());
      }
      return store;
    } catch (MillraceException e) {
      if (e.code() != Code.DATA_LOSS) {
        throw e;
      }
      LOG.warn("{} This task begins without it.", e.getMessage());
      try {
        Files.move(
            folder, Files.createTempDirectory(folder.getParent(), "damaged-").resolve("state"));
      } catch (IOException f) {
        throw e;
      }
      return ProcessStore.open(folder);
    }
  }

  private JobEnd.Outcome serve(ClusterSpec cluster, TaskId id, VariableStore store) {
    try (Server server = Server.start(cluster, id, StandardOps.registry(), store);
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
      return JobEnd.await(
          StandardOps.registry(), own, id.index(), replicas, LEAVE, Platform.system());
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
