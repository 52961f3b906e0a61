package dev.millrace.job.report;

import dev.millrace.base.config.Config;
import dev.millrace.base.config.RankSettings;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.OpRegistry;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A rank of a ring, or a process that trains alone, as a task that can be asked how it is. It is
 * one only if the launcher has given the ranks addresses for that.
 *
 * <p>Threading: one thread.
 */
public final class RankStatus implements AutoCloseable {
  /** The job of these tasks in their cluster spec. */
  private static final String JOB = "rank";

  /** Null if nobody is to ask. */
  private final Server server;

  private RankStatus(Server server) {
    this.server = server;
  }

  /** Answers questions about rank {@code rank} from now on, if they are wanted. */
  public static RankStatus of(int rank, OpRegistry registry) {
    Optional<String> addresses = Config.ofProcess().find(RankSettings.STATUS);
    if (addresses.isEmpty() || addresses.get().isBlank()) {
      return new RankStatus(null);
    }
    ClusterSpec ranks = ClusterSpec.of(Map.of(JOB, List.of(addresses.get().split(",", -1))));
    return new RankStatus(Server.start(ranks, new TaskId(JOB, rank), registry));
  }

  @Override
  public void close() {
    if (server != null) {
      server.close();
    }
  }
}
