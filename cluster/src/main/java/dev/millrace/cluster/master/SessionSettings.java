package dev.millrace.cluster.master;

import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.graph.name.DeviceSpec;
import dev.millrace.proto.ConfigProto;
import java.time.Duration;
import java.util.List;

/**
 * What a client asks of a session, out of its ConfigProto.
 *
 * @param deviceFilters only tasks that match one are used; empty means all
 * @param isolated whether the session has its own variables. True if it brings its own cluster,
 *     unless it asks to share state
 * @param startTimeout how long to wait for the tasks
 * @param cluster the tasks to use in place of the server's own cluster; null if that is meant
 * @param target where the client has reached the master, as {@code host:port}
 * @param costModelEvery measures one in this many runs of a step; 0 for none
 * @param costModelAfter how many runs pass before the first is measured
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
  public static Duration startTimeoutOfContext() {
    return Context.current().config().get(ClusterSettings.START_TIMEOUT);
  }

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
            : startTimeoutOfContext(),
        ownCluster ? ClusterSpec.decode(c.getClusterDef()) : null,
        target.replaceFirst("^grpc://", ""),
        c.getGraphOptions().getBuildCostModel(),
        c.getGraphOptions().getBuildCostModelAfter());
  }

  /** Whether to measure a run of a step after {@code before} earlier runs. */
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
