package dev.millrace.cluster;

import dev.millrace.base.MillraceException;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.OpRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * All tasks of a cluster as servers of this process, on free ports of the loopback address. They
 * talk to each other as tasks of different processes do. For trying things out and for tests, as
 * TensorFlow's {@code create_local_cluster}.
 *
 * <p>Threading: any thread.
 */
public final class InProcessCluster implements AutoCloseable {
  private final ClusterSpec spec;
  private final List<Server> servers = new ArrayList<>();

  /** Starts so many tasks of each job, such as {@code Map.of("ps", 1, "worker", 2)}. */
  public static InProcessCluster start(Map<String, Integer> jobs, OpRegistry registry) {
    int tasks = jobs.values().stream().mapToInt(Integer::intValue).sum();
    try (HeldPorts ports = HeldPorts.take(tasks)) {
      return new InProcessCluster(spec(jobs, ports.addresses()), registry);
    }
  }

  private static ClusterSpec spec(Map<String, Integer> jobs, List<String> addresses) {
    Map<String, List<String>> spec = new TreeMap<>();
    int next = 0;
    for (Map.Entry<String, Integer> job : jobs.entrySet()) {
      spec.put(job.getKey(), addresses.subList(next, next + job.getValue()));
      next += job.getValue();
    }
    return ClusterSpec.of(spec);
  }

  private InProcessCluster(ClusterSpec spec, OpRegistry registry) {
    this.spec = spec;
    try {
      spec.tasks().forEach(task -> servers.add(Server.start(spec, task, registry)));
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  /** Who is where. */
  public ClusterSpec spec() {
    return spec;
  }

  /** The servers, by job and number. */
  public List<Server> servers() {
    return List.copyOf(servers);
  }

  /** The server of one task. */
  public Server server(String job, int index) {
    TaskId task = new TaskId(job, index);
    return servers.stream()
        .filter(s -> s.task().equals(task))
        .findFirst()
        .orElseThrow(
            () ->
                MillraceException.invalid(
                    "There is no task %s; the cluster has %s.", task, spec.tasks()));
  }

  /** Stops all servers. */
  @Override
  public void close() {
    servers.reversed().forEach(Server::close);
  }
}
