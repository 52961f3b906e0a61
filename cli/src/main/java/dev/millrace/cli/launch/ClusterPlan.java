package dev.millrace.cli.launch;

import dev.millrace.base.MillraceException;
import dev.millrace.cli.text.Json;
import dev.millrace.cluster.HeldPorts;
import dev.millrace.cluster.spec.ClusterSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Parameter servers and workers, and an evaluator if there is one. Each task gets its role in
 * {@code TF_CONFIG} and in the variables of TensorFlow's tutorial. On this machine ports are free
 * ones, reserved until the job ends. On several hosts they count up from a given one on each.
 */
public final class ClusterPlan implements JobPlan {
  private static final int LAST_PORT = 65_535;

  private final List<JobTask> tasks = new ArrayList<>();
  private final HeldPorts ports;
  private final Map<String, List<String>> cluster;

  /**
   * Assigns tasks to slots in order: parameter servers, workers, evaluator.
   *
   * @param slots as many as there are tasks
   * @param firstPort the first port on each host, if there are several
   */
  ClusterPlan(
      List<HostSlots.Slot> slots,
      int servers,
      int workers,
      int firstPort,
      List<String> command,
      Map<String, String> exported,
      JobCredentials credentials) {
    List<HostSlots.Slot> listening = slots.subList(0, servers + workers);
    boolean here = slots.stream().allMatch(s -> HostAddresses.isHere(s.host()));
    List<String> addresses = here ? null : addresses(listening, firstPort);
    ports = here ? HeldPorts.take(servers + workers) : null;
    if (here) {
      addresses = ports.addresses();
    }
    cluster = new LinkedHashMap<>();
    cluster.put("ps", addresses.subList(0, servers));
    cluster.put("worker", addresses.subList(servers, servers + workers));
    for (int i = 0; i < slots.size(); i++) {
      String job = i < servers ? "ps" : i < servers + workers ? "worker" : "evaluator";
      int index = i < servers ? i : i < servers + workers ? i - servers : 0;
      Map<String, String> own = new LinkedHashMap<>(exported);
      own.putAll(role(cluster, job, index));
      own.putAll(credentials.variables(job + "/" + index));
      boolean chief = job.equals("worker") && index == 0;
      tasks.add(new JobTask(job + "/" + index, slots.get(i).host(), chief, command, own));
    }
  }

  /** A cluster on this machine, with the variables {@code exported}. */
  public static ClusterPlan here(
      int servers,
      int workers,
      List<String> command,
      Map<String, String> exported,
      JobCredentials credentials) {
    List<HostSlots> here = List.of(new HostSlots(HostAddresses.LOCAL, servers + workers));
    return new ClusterPlan(
        HostSlots.assign(here, servers + workers, "tasks"),
        servers,
        workers,
        0,
        command,
        exported,
        credentials);
  }

  private static Map<String, String> role(
      Map<String, List<String>> cluster, String job, int index) {
    Map<String, Object> task = new LinkedHashMap<>();
    task.put("type", job);
    task.put("index", index);
    Map<String, Object> config = new LinkedHashMap<>();
    config.put("cluster", cluster);
    config.put("task", task);
    return Map.of(
        "TF_CONFIG", Json.compact(config),
        "PS_HOSTS", String.join(",", cluster.get("ps")),
        "WORKER_HOSTS", String.join(",", cluster.get("worker")),
        "JOB_NAME", job,
        "TASK_INDEX", Integer.toString(index));
  }

  private static List<String> addresses(List<HostSlots.Slot> slots, int firstPort) {
    String loopback =
        slots.stream()
            .map(HostSlots.Slot::host)
            .filter(h -> h.equals(HostAddresses.LOCAL) || h.startsWith("127."))
            .collect(Collectors.joining());
    if (!loopback.isEmpty()) {
      throw MillraceException.invalid(
          "--hosts names %s, which the other hosts cannot reach. Give this host's own name.",
          HostAddresses.LOCAL);
    }
    Map<String, Integer> next = new HashMap<>();
    List<String> addresses = new ArrayList<>();
    for (HostSlots.Slot s : slots) {
      int port = next.merge(s.host(), firstPort, (before, x) -> before + 1);
      if (port < 1 || port > LAST_PORT) {
        throw MillraceException.invalid(
            "--port %d leaves no port for the tasks on %s; give one from 1 to %d.",
            firstPort, s.host(), LAST_PORT - slots.size());
      }
      addresses.add(s.host() + ":" + port);
    }
    return addresses;
  }

  @Override
  public List<JobTask> tasks() {
    return tasks;
  }

  @Override
  public Optional<ClusterSpec> watched() {
    return Optional.of(ClusterSpec.of(cluster));
  }

  @Override
  public void close() {
    if (ports != null) {
      ports.close();
    }
  }
}
