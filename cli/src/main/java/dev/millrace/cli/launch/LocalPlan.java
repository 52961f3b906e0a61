package dev.millrace.cli.launch;

import dev.millrace.base.config.RankSettings;
import dev.millrace.cluster.HeldPorts;
import dev.millrace.cluster.spec.ClusterSpec;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A job of one process. */
final class LocalPlan implements JobPlan {
  private final List<JobTask> tasks;

  /** Where the process answers how it is; null if nobody is to ask. */
  private final HeldPorts port;

  LocalPlan(String host, List<String> command, Map<String, String> exported, boolean watched) {
    port = watched && HostAddresses.isHere(host) ? HeldPorts.take(1) : null;
    Map<String, String> own = new LinkedHashMap<>(exported);
    if (port != null) {
      own.put(RankSettings.STATUS.variable(), port.addresses().getFirst());
    }
    tasks = List.of(new JobTask("worker/0", host, true, command, own));
  }

  @Override
  public List<JobTask> tasks() {
    return tasks;
  }

  @Override
  public Optional<ClusterSpec> watched() {
    return port == null
        ? Optional.empty()
        : Optional.of(ClusterSpec.of(Map.of("rank", port.addresses())));
  }

  @Override
  public void close() {
    if (port != null) {
      port.close();
    }
  }
}
