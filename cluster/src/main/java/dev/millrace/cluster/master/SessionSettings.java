package dev.millrace.cluster.master;

import dev.millrace.graph.DeviceSpec;
import dev.millrace.proto.ConfigProto;
import java.time.Duration;
import java.util.List;

/**
 * What a client asks of a session, out of its ConfigProto.
 *
 * @param deviceFilters only tasks that match one are used; empty means all
 * @param startTimeout how long to wait for the tasks
 */
public record SessionSettings(
    List<DeviceSpec> deviceFilters,
    boolean softPlacement,
    boolean logPlacement,
    boolean isolated,
    Duration startTimeout) {
  /** How long CreateSession waits for tasks unless told otherwise. */
  public static final Duration START_TIMEOUT =
      Duration.ofSeconds(Integer.getInteger("millrace.start.timeout.seconds", 300));

  public static SessionSettings of(ConfigProto c) {
    return new SessionSettings(
        c.getDeviceFiltersList().stream().map(DeviceSpec::parse).toList(),
        c.getAllowSoftPlacement(),
        c.getLogDevicePlacement(),
        c.getIsolateSessionState(),
        c.getOperationTimeoutInMs() > 0
            ? Duration.ofMillis(c.getOperationTimeoutInMs())
            : START_TIMEOUT);
  }

  /** Whether a task takes part, the master's own always does. */
  boolean allows(String taskName) {
    DeviceSpec task = DeviceSpec.parse(taskName);
    return deviceFilters.isEmpty() || deviceFilters.stream().anyMatch(f -> f.intersects(task));
  }
}
