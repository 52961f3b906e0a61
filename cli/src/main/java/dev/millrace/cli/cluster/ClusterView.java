package dev.millrace.cli.cluster;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.cluster.transport.MasterClient;
import dev.millrace.cluster.transport.StatusClient;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.ConfigProto;
import dev.millrace.proto.DeviceAttributes;
import dev.millrace.proto.TaskFacts;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
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
public final class ClusterView implements AutoCloseable {
  private static final Timers TIMERS = Timers.system();
  private final ClusterSpec cluster;
  private final Duration patience;
  private final ExecutorService threads =
      Executors.newCachedThreadPool(
          Thread.ofPlatform().name("millrace-ask-", 0).daemon().factory());
  private final Map<TaskId, StatusClient> clients = new LinkedHashMap<>();

  /** A view of {@code cluster}; no task is given longer than {@code patience} to answer. */
  public ClusterView(ClusterSpec cluster, Duration patience) {
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
   * @param facts how it is; null if it did not answer or is not a Millrace task
   * @param clockAheadMillis how far its clock is ahead of ours at least, whenever within the time
   *     its answer took it was read; 0 without facts
   * @param failure why it did not answer, or null
   */
  public record Answer(
      TaskId task,
      String address,
      double millis,
      List<DeviceAttributes> devices,
      TaskFacts facts,
      double clockAheadMillis,
      String failure) {
    public boolean isUp() {
      return failure == null;
    }

    public boolean hasFacts() {
      return facts != null;
    }

    /** A number that is new with every start of the task. */
    long incarnation() {
      return devices.isEmpty() ? 0 : devices.getFirst().getIncarnation();
    }
  }

  /** Asks all tasks at once for their status. */
  public List<Answer> ask() {
    return cluster.tasks().stream()
        .map(this::ask)
        .toList() // all are asked before the first is waited for
        .stream()
        .map(CompletableFuture::join)
        .toList();
  }

  private CompletableFuture<Answer> ask(TaskId task) {
    long start = TIMERS.now();
    String address = cluster.address(task);
    return clients
        .get(task)
        .status(patience)
        .handle(
            (devices, e) -> {
              double millis = (TIMERS.now() - start) / 1e6;
              return e == null
                  ? new Answer(task, address, millis, devices, null, 0, null)
                  : new Answer(task, address, millis, List.of(), null, 0, why(e));
            })
        .thenCompose(a -> a.isUp() ? withFacts(a) : CompletableFuture.completedFuture(a));
  }

  private CompletableFuture<Answer> withFacts(Answer a) {
    Instant asked = TIMERS.wallTime();
    return clients
        .get(a.task())
        .facts(patience)
        .handle(
            (facts, e) -> {
              if (e != null) {
                return a;
              }
              Instant theirs = Instant.EPOCH.plus(facts.getClockMicros(), ChronoUnit.MICROS);
              double ahead = millis(TIMERS.wallTime(), theirs);
              double behind = millis(theirs, asked);
              double off = ahead > 0 ? ahead : behind > 0 ? -behind : 0;
              return new Answer(
                  a.task(), a.address(), a.millis(), a.devices(), facts, off, a.failure());
            });
  }

  private static double millis(Instant from, Instant to) {
    return Duration.between(from, to).toNanos() / 1e6;
  }

  private static String why(Throwable e) {
    // The name of the call that failed is for those who write networks.
    return String.valueOf(MillraceException.of(e).getMessage())
        .replaceFirst("finishConnect\\(\\.\\.\\) failed with error\\(-\\d+\\): ", "");
  }

  /**
   * The devices of the whole cluster as {@code task}'s own master sees them, which it can only if
   * it reaches every task. Fails with its reason if it does not.
   */
  public List<DeviceAttributes> seenBy(TaskId task) {
    try (MasterClient master = new MasterClient(cluster.address(task), true)) {
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
