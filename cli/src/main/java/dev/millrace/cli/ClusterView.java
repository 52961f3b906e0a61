package dev.millrace.cli;

import dev.millrace.base.MillraceException;
import dev.millrace.cluster.ClusterSpec;
import dev.millrace.cluster.TaskId;
import dev.millrace.cluster.transport.MasterClient;
import dev.millrace.cluster.transport.StatusClient;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.ConfigProto;
import dev.millrace.proto.DeviceAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A cluster as seen from outside: every task asked for its status over TensorFlow's protocol, so
 * that the tasks may be TensorFlow's too.
 */
final class ClusterView implements AutoCloseable {
  private final ClusterSpec cluster;
  private final Duration patience;
  private final ExecutorService threads =
      Executors.newCachedThreadPool(
          Thread.ofPlatform().name("millrace-ask-", 0).daemon().factory());
  private final Map<TaskId, StatusClient> clients = new LinkedHashMap<>();

  /** A view of {@code cluster}; no task is given longer than {@code patience} to answer. */
  ClusterView(ClusterSpec cluster, Duration patience) {
    this.cluster = cluster;
    this.patience = patience;
    for (TaskId t : cluster.tasks()) {
      clients.put(t, new StatusClient(t, cluster.address(t), threads));
    }
  }

  /**
   * What a task answered.
   *
   * @param devices what it has; empty if it did not answer
   * @param failure why it did not answer, or null
   */
  record Answer(
      TaskId task, String address, double millis, List<DeviceAttributes> devices, String failure) {
    boolean isUp() {
      return failure == null;
    }

    /** A number that is new with every start of the task. */
    long incarnation() {
      return devices.isEmpty() ? 0 : devices.getFirst().getIncarnation();
    }
  }

  /** Asks all tasks at once for their status. */
  List<Answer> ask() {
    Map<TaskId, CompletableFuture<Answer>> calls = new LinkedHashMap<>();
    for (TaskId t : cluster.tasks()) {
      long start = System.nanoTime();
      String address = cluster.address(t);
      calls.put(
          t,
          clients
              .get(t)
              .status(patience)
              .handle(
                  (devices, e) -> {
                    double millis = (System.nanoTime() - start) / 1e6;
                    return e == null
                        ? new Answer(t, address, millis, devices, null)
                        : new Answer(t, address, millis, List.of(), why(e));
                  }));
    }
    return calls.values().stream().map(CompletableFuture::join).toList();
  }

  private static String why(Throwable e) {
    return String.valueOf(MillraceException.of(e).getMessage());
  }

  /**
   * The devices of the whole cluster as {@code task}'s own master sees them, which it can only if
   * it reaches every task. Fails with its reason if it does not.
   */
  List<DeviceAttributes> seenBy(TaskId task) {
    try (MasterClient master = new MasterClient(cluster.address(task))) {
      ConfigProto config =
          ConfigProto.newBuilder().setOperationTimeoutInMs(patience.toMillis()).build();
      String handle = master.createSession(StandardOps.newGraph(), config, patience.plusSeconds(2));
      try {
        return new ArrayList<>(master.listDevices(handle, patience));
      } finally {
        master.closeSession(handle);
      }
    }
  }

  @Override
  public void close() {
    clients.values().forEach(StatusClient::close);
    threads.shutdownNow();
  }
}
