package dev.millrace.cluster.master;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.worker.WorkerPeer;
import dev.millrace.proto.DeviceAttributes;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls the roll of the tasks a session needs: waits until each has answered, says every ten
 * seconds for whom it waits and what is known of them, and gives up at the deadline.
 */
final class TaskRoll {
  private static final Logger LOG = LoggerFactory.getLogger(TaskRoll.class);
  private static final long REPORT_NANOS = 10_000_000_000L;
  private static final Duration ATTEMPT = Duration.ofSeconds(3);

  /** A task that has not answered: the call under way and how the last one failed. */
  private static final class Missing {
    final WorkerPeer peer;
    CompletableFuture<List<DeviceAttributes>> attempt;
    String lastFailure = "no answer yet";

    Missing(WorkerPeer peer) {
      this.peer = peer;
      this.attempt = peer.status(ATTEMPT);
    }
  }

  private TaskRoll() {}

  /** The devices of every peer, once all have answered. */
  static Map<WorkerPeer, List<DeviceAttributes>> call(List<WorkerPeer> peers, Duration timeout) {
    Map<WorkerPeer, List<DeviceAttributes>> present = new LinkedHashMap<>();
    List<Missing> missing = new java.util.ArrayList<>();
    peers.forEach(p -> missing.add(new Missing(p)));
    long start = System.nanoTime();
    long reported = start;
    while (!missing.isEmpty()) {
      for (Missing m : List.copyOf(missing)) {
        if (poll(m, present)) {
          missing.remove(m);
        }
      }
      long now = System.nanoTime();
      if (!missing.isEmpty() && now - start > timeout.toNanos()) {
        throw new MillraceException(Code.DEADLINE_EXCEEDED, report(missing, start, timeout));
      }
      if (!missing.isEmpty() && now - reported > REPORT_NANOS) {
        reported = now;
        for (Missing m : missing) {
          LOG.info(
              "CreateSession still waiting for response from worker: {} ({}; waited {} s of {} s)",
              m.peer.name(),
              m.lastFailure,
              (now - start) / 1_000_000_000L,
              timeout.toSeconds());
        }
      }
    }
    return present;
  }

  /** Looks at one task's call, for at most a short while; begins another if it failed. */
  private static boolean poll(Missing m, Map<WorkerPeer, List<DeviceAttributes>> present) {
    try {
      present.put(m.peer, m.attempt.get(100, TimeUnit.MILLISECONDS));
      return true;
    } catch (TimeoutException e) {
      return false;
    } catch (ExecutionException e) {
      MillraceException cause = MillraceException.of(e);
      m.lastFailure = stage(cause);
      if (cause.code() == Code.UNIMPLEMENTED
          || cause.code() == Code.UNAUTHENTICATED
          || cause.code() == Code.PERMISSION_DENIED) {
        throw cause.withMessage(
            "CreateSession failed because worker "
                + m.peer.name()
                + " returned error: "
                + cause.getMessage());
      }
      pause();
      m.attempt = m.peer.status(ATTEMPT);
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MillraceException(Code.CANCELLED, "Waiting for the tasks was interrupted.", e);
    }
  }

  private static void pause() {
    java.util.concurrent.locks.LockSupport.parkNanos(50_000_000L);
  }

  /** What a failure says about how far the connection got. */
  private static String stage(MillraceException e) {
    String m = String.valueOf(e.getMessage());
    String all = m + (e.getCause() == null ? "" : " " + deepest(e));
    if (all.contains("UnknownHost") || all.contains("Unable to resolve host")) {
      return "its host name does not resolve: " + m;
    }
    if (all.contains("Connection refused")) {
      return "connection refused, nothing listens there: " + m;
    }
    if (e.code() == Code.DEADLINE_EXCEEDED) {
      return "connected but no answer within " + ATTEMPT.toSeconds() + " s";
    }
    if (all.contains("First received frame was not SETTINGS")
        || all.contains("HTTP/2")
        || all.contains("http2")) {
      return "something listens there that does not speak the protocol: " + m;
    }
    return m;
  }

  private static String deepest(Throwable t) {
    while (t.getCause() != null) {
      t = t.getCause();
    }
    return t.toString();
  }

  private static String report(List<Missing> missing, long start, Duration timeout) {
    StringBuilder s = new StringBuilder();
    s.append("CreateSession waited ")
        .append((System.nanoTime() - start) / 1_000_000_000L)
        .append(" s (the limit) for ");
    String separator = "";
    for (Missing m : missing) {
      s.append(separator).append(m.peer.name()).append(" [").append(m.lastFailure).append(']');
      separator = ", ";
    }
    return s.append(
            ". Start the missing tasks, correct the cluster spec, or leave tasks out with device"
                + " filters.")
        .toString();
  }
}
