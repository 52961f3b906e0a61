package dev.millrace.cluster.master;

import dev.millrace.cluster.ClusterSpec;
import dev.millrace.graph.DeviceSpec;
import dev.millrace.proto.ConfigProto;
import java.time.Duration;
import java.util.List;

/**
 * What a client asks of a session, out of its ConfigProto.
 *
 * @param deviceFilters only tasks that match one are used; empty means all
 * @param isolated whether its variables are its own; so with a cluster of its own, unless it asks
 *     to share them
 * @param startTimeout how long to wait for the tasks
 * @param cluster the tasks to use in place of the server's own cluster; null if that is meant
 * @param target where the client has reached the master, as {@code host:port}
 * @param costModelEvery of so many runs of a step one is measured; 0 for none
 * @param costModelAfter so many runs are not measured at first
 */
public record SessionSettings(
    List<DeviceSpec> deviceFilters,
    boolean softPlacement,
    boolean logPlacement,
    boolean isolated,
    Duration startTimeout,
    ClusterSpec cluster,
    String target,
    long costModelEvery,
    long costModelAfter) {
  /** How long CreateSession waits for tasks unless told otherwise. */
  public static final Duration START_TIMEOUT =
      Duration.ofSeconds(Integer.getInteger("millrace.start.timeout.seconds", 300));

  /** What a client asks that has opened the session at {@code target}. */
  public static SessionSettings of(ConfigProto c, String target) {
    boolean ownCluster = c.getClusterDef().getJobCount() > 0;
    boolean shared = c.getExperimental().getShareSessionStateInClusterspecPropagation();
    return new SessionSettings(
        c.getDeviceFiltersList().stream().map(DeviceSpec::parse).toList(),
        c.getAllowSoftPlacement(),
        c.getLogDevicePlacement(),
        c.getIsolateSessionState() || ownCluster && !shared,
        c.getOperationTimeoutInMs() > 0
            ? Duration.ofMillis(c.getOperationTimeoutInMs())
            : START_TIMEOUT,
        ownCluster ? ClusterSpec.decode(c.getClusterDef()) : null,
        target.replaceFirst("^grpc://", ""),
        c.getGraphOptions().getBuildCostModel(),
        c.getGraphOptions().getBuildCostModelAfter());
  }

  /** Whether the costs of a step's run are to be told, {@code before} runs of it having ended. */
  boolean measures(long before) {
    long n = before - costModelAfter;
    return costModelEvery > 0 && n >= 0 && (n + 1) % costModelEvery == 0;
  }

  /** Whether a task takes part, the master's own always does. */
  boolean allows(String taskName) {
    DeviceSpec task = DeviceSpec.parse(taskName);
    return deviceFilters.isEmpty() || deviceFilters.stream().anyMatch(f -> f.intersects(task));
  }
}
