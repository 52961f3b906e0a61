package dev.millrace.cluster.transport;

import dev.millrace.cluster.link.Link;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * Which connections sessions are used over, so that those of a client or master that vanished
 * without goodbye can be closed. A connection may be lost and made again, so a session without one
 * is given time: little if its owner is one of ours and held a link, much if all that is known is
 * that a gRPC channel is closed, since those also close themselves when idle.
 *
 * <p>Threading: any thread.
 */
final class Leases {
  /** How long a session is kept after its owner's link and connections have gone. */
  private final Duration afterLink =
      Duration.ofMillis(Integer.getInteger("millrace.session.linked.grace.millis", 15_000));

  /** How long a session is kept after its last connection, if its owner had no link. */
  private final Duration afterConnection =
      Duration.ofMillis(Integer.getInteger("millrace.session.grace.millis", 3_600_000));

  private static final class Lease {
    final Set<Object> connections = ConcurrentHashMap.newKeySet();
    volatile boolean linked;

    /** Since when it has had no connection; 0 while it has one. */
    long orphanedNanos;
  }

  private final Map<String, Lease> leases = new ConcurrentHashMap<>();
  private final Map<Object, Set<String>> byConnection = new HashMap<>();
  private final Consumer<String> close;

  /** Sessions that nobody comes back for are given to {@code close}. */
  Leases(Consumer<String> close) {
    this.close = close;
  }

  /** A session was opened over a connection, a link or one of gRPC's; null is neither. */
  void open(String session, Object connection) {
    if (connection != null) {
      leases.put(session, new Lease());
      use(session, connection);
    }
  }

  /** The session, if there is one, is used over a connection. */
  void use(String session, Object connection) {
    Lease l = leases.get(session);
    if (l == null || connection == null || l.connections.contains(connection)) {
      return;
    }
    synchronized (this) {
      l.connections.add(connection);
      l.linked |= connection instanceof Link;
      l.orphanedNanos = 0;
      byConnection.computeIfAbsent(connection, c -> new HashSet<>()).add(session);
    }
    if (isGone(connection)) {
      gone(connection);
    }
  }

  private static boolean isGone(Object connection) {
    return connection instanceof Link link
        ? link.loss() != null
        : connection instanceof Connections.Connection c && c.isGone();
  }

  /** The session has been closed. */
  synchronized void ended(String session) {
    Lease l = leases.remove(session);
    if (l != null) {
      for (Object c : l.connections) {
        Set<String> sessions = byConnection.get(c);
        if (sessions != null && sessions.remove(session) && sessions.isEmpty()) {
          byConnection.remove(c);
        }
      }
    }
  }

  /** A connection is gone. */
  synchronized void gone(Object connection) {
    Set<String> sessions = byConnection.remove(connection);
    if (sessions == null) {
      return;
    }
    for (String s : sessions) {
      Lease l = leases.get(s);
      if (l != null && l.connections.remove(connection) && l.connections.isEmpty()) {
        l.orphanedNanos = Math.max(1, System.nanoTime());
      }
    }
  }

  /** Closes the sessions whose time is over. */
  void sweep() {
    List<String> over;
    long now = System.nanoTime();
    synchronized (this) {
      over =
          leases.entrySet().stream()
              .filter(e -> e.getValue().orphanedNanos != 0)
              .filter(
                  e ->
                      now - e.getValue().orphanedNanos
                          > (e.getValue().linked ? afterLink : afterConnection).toNanos())
              .map(Map.Entry::getKey)
              .toList();
      over.forEach(this::ended);
    }
    over.forEach(close);
  }

  int size() {
    return leases.size();
  }
}
