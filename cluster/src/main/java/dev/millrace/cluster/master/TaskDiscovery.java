package dev.millrace.cluster.master;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.peer.WorkerPeer;
import dev.millrace.proto.DeviceAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls the roll of the tasks a session needs: waits until each has answered, says every ten
 * seconds for whom it waits, how far it got with them and how long it will go on, and gives up at
 * the deadline.
 */
final class TaskDiscovery {
  private static final Logger LOG = LoggerFactory.getLogger(TaskDiscovery.class);
  private static final Duration ATTEMPT = Duration.ofSeconds(3);
  private static final long PAUSE_NANOS = 100_000_000L;

  /** A task that has not answered: the call under way and how the last one failed. */
  private static final class Missing {
    final WorkerPeer peer;
    CompletableFuture<List<DeviceAttributes>> attempt;
    long retryNanos;
    String stage = "no answer yet";

    Missing(WorkerPeer peer) {
      this.peer = peer;
      this.attempt = peer.status(ATTEMPT);
    }

    @Override
    public String toString() {
      return peer.name() + " (" + peer.address() + ": " + stage + ")";
    }
  }

  private final long reportNanos =
      Context.current().config().get(ClusterSettings.START_REPORT).toNanos();

  private final Timers timers;
  private final long start;
  private final Duration timeout;
  private final Map<WorkerPeer, List<DeviceAttributes>> present = new LinkedHashMap<>();
  private final List<Missing> missing = new ArrayList<>();
  private long reportedNanos;

  private TaskDiscovery(List<WorkerPeer> peers, Duration timeout, Timers timers) {
    this.timers = timers;
    this.start = timers.now();
    this.reportedNanos = start;
    this.timeout = timeout;
    peers.forEach(p -> missing.add(new Missing(p)));
  }

  /** The devices of every peer, once all have answered. Ends early when cancelled. */
  static Map<WorkerPeer, List<DeviceAttributes>> call(
      List<WorkerPeer> peers, Duration timeout, Timers timers, Cancellation cancellation) {
    TaskDiscovery roll = new TaskDiscovery(peers, timeout, timers);
    while (true) {
      roll.missing.removeIf(roll::hasAnswered);
      if (roll.missing.isEmpty()) {
        return roll.inOrder(peers);
      }
      cancellation.check();
      roll.report();
      if (Thread.currentThread().isInterrupted()) {
        throw new MillraceException(Code.CANCELLED, "Waiting for the tasks was interrupted.");
      }
    }
  }

  private Map<WorkerPeer, List<DeviceAttributes>> inOrder(List<WorkerPeer> peers) {
    Map<WorkerPeer, List<DeviceAttributes>> ordered = new LinkedHashMap<>();
    peers.forEach(p -> ordered.put(p, present.get(p)));
    return ordered;
  }

  /** Looks at one task's call, for at most a short while; begins another if it failed. */
  private boolean hasAnswered(Missing m) {
    if (m.attempt == null) {
      if (timers.now() - m.retryNanos < 0) {
        timers.park(this, PAUSE_NANOS / 10);
        return false;
      }
      m.attempt = m.peer.status(ATTEMPT);
    }
    try {
      present.put(m.peer, timers.get(m.attempt, PAUSE_NANOS));
      return true;
    } catch (TimeoutException e) {
      return false;
    } catch (ExecutionException e) {
      m.stage = stage(MillraceException.of(e), ATTEMPT);
      m.attempt = null;
      m.retryNanos = timers.now() + PAUSE_NANOS;
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private void report() {
    long now = timers.now();
    long waited = (now - start) / 1_000_000_000L;
    if (now - start > timeout.toNanos()) {
      StringBuilder s = new StringBuilder("CreateSession waited " + waited + " s, its limit, for ");
      s.append(String.join(", ", missing.stream().map(Missing::toString).toList()));
      throw new MillraceException(
          Code.DEADLINE_EXCEEDED,
          s
              + ". Start the missing tasks, correct the cluster spec, or leave tasks out with"
              + " device filters. The limit is operation_timeout_in_ms of the session's config.");
    }
    if (now - reportedNanos > reportNanos) {
      reportedNanos = now;
      for (Missing m : missing) {
        LOG.info(
            "CreateSession still waiting for response from worker: {} at {} ({}; waited {} s, gives"
                + " up in {} s)",
            m.peer.name(),
            m.peer.address(),
            m.stage,
            waited,
            timeout.toSeconds() - waited);
      }
    }
  }

  /** What a failure says about how far the connection got. */
  static String stage(MillraceException e, Duration limit) {
    String m = String.valueOf(e.getMessage());
    String all = m + " " + deepest(e);
    if (e.code() == Code.FAILED_PRECONDITION) {
      return m;
    }
    if (all.contains("UnknownHost") || all.contains("Unable to resolve host")) {
      return "name not resolved: its host has no address";
    }
    if (all.contains("Connection refused")) {
      return "refused: nothing listens there";
    }
    if (e.code() == Code.DEADLINE_EXCEEDED) {
      return "no answer within " + limit.toSeconds() + " s";
    }
    if (e.code() == Code.UNIMPLEMENTED
        || all.contains("SETTINGS")
        || all.contains("HTTP/2")
        || all.contains("http2")
        || all.contains("HTTP status code")
        || all.contains("Network closed")
        || all.contains("UNKNOWN")) {
      return "not speaking the protocol: what listens there is no TensorFlow server: " + m;
    }
    return m;
  }

  private static String deepest(Throwable t) {
    while (t.getCause() != null) {
      t = t.getCause();
    }
    return t.toString();
  }
}
