package dev.millrace.cluster.transport;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.link.Link;
import dev.millrace.cluster.spec.ServerLimits;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which connections sessions are used over, so that those of a client or master that vanished
 * without a leave message can be closed. A connection may be lost and made again, so a session
 * without one has a grace period. It is short if the owner is a Millrace process that held a link,
 * and minutes if a gRPC channel was closed. It is long if that channel had been idle: idle channels
 * close themselves and open again with the next call. While its connection is open a session lasts.
 *
 * <p>The leased object is a session's handle, or anything else with an owner and {@code equals}.
 *
 * <p>Threading: any thread.
 */
final class Leases {
  private static final Logger LOG = LoggerFactory.getLogger(Leases.class);

  /** How long a session is kept after its owner's link and connections have gone. */
  private final Duration afterLink =
      Context.current().config().get(ClusterSettings.SESSION_LINKED_GRACE);

  /** How long a session is kept after its last connection, if its owner had no link. */
  private final Duration afterConnection =
      Context.current().config().get(ClusterSettings.SESSION_GRACE);

  /** How long it is kept if that connection had been idle: such a client may come back. */
  private final Duration afterIdle =
      Context.current().config().get(ClusterSettings.SESSION_IDLE_GRACE);

  /** From here on a channel counts as idle; gRPC closes idle channels after 30 minutes. */
  private static final Duration IDLE = Duration.ofMinutes(20);

  private static final class Lease {
    final Set<Object> connections = ConcurrentHashMap.newKeySet();
    volatile boolean linked;

    /** When it was last used. */
    volatile long usedNanos;

    /** Since when it has had no connection; 0 while it has one. */
    long orphanedNanos;
  }

  private final Map<Object, Lease> leases = new ConcurrentHashMap<>();
  private final Map<Object, Set<Object>> byConnection = new HashMap<>();
  private final Consumer<Object> close;
  private final Timers timers;
  private final int maxPerConnection;

  /**
   * Passes sessions whose lease has expired to {@code close}.
   *
   * @param maxPerConnection how many leases one connection may hold
   */
  Leases(int maxPerConnection, Timers timers, Consumer<Object> close) {
    this.timers = timers;
    this.maxPerConnection = maxPerConnection;
    this.close = close;
  }

  /** Fails if a connection already holds as many leases as it may. */
  synchronized void checkRoom(String what, Object connection) {
    Set<Object> held = connection == null ? null : byConnection.get(connection);
    if (held != null && held.size() >= maxPerConnection) {
      throw new MillraceException(
          Code.RESOURCE_EXHAUSTED,
          "This connection already holds "
              + held.size()
              + " "
              + what
              + ", the limit. Close unused ones."
              + ServerLimits.raisedBy("sessions"));
    }
  }

  /** Whether something is leased over a connection. */
  synchronized boolean isUsedBy(Object connection) {
    return byConnection.containsKey(connection);
  }

  /** A session was opened over a connection, a link or one of gRPC's; null is neither. */
  void open(Object session, Object connection) {
    if (connection != null) {
      leases.put(session, new Lease());
      use(session, connection);
    }
  }

  /** The session, if there is one, is used over a connection. */
  void use(Object session, Object connection) {
    Lease l = leases.get(session);
    if (l == null || connection == null) {
      return;
    }
    l.usedNanos = timers.now();
    if (l.connections.contains(connection)) {
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
  synchronized void ended(Object session) {
    Lease l = leases.remove(session);
    if (l != null) {
      for (Object c : l.connections) {
        Set<Object> sessions = byConnection.get(c);
        if (sessions != null && sessions.remove(session) && sessions.isEmpty()) {
          byConnection.remove(c);
        }
      }
    }
  }

  /** A connection is gone. */
  synchronized void gone(Object connection) {
    Set<Object> sessions = byConnection.remove(connection);
    if (sessions == null) {
      return;
    }
    for (Object s : sessions) {
      Lease l = leases.get(s);
      if (l != null && l.connections.remove(connection) && l.connections.isEmpty()) {
        l.orphanedNanos = Math.max(1, timers.now());
      }
    }
  }

  /** Closes the sessions whose time is over. */
  void sweep() {
    List<Object> over;
    long now = timers.now();
    synchronized (this) {
      over =
          leases.entrySet().stream()
              .filter(e -> isOver(e.getValue(), now))
              .map(Map.Entry::getKey)
              .toList();
      over.forEach(this::ended);
    }
    for (Object session : over) {
      try {
        close.accept(session);
      } catch (Throwable t) {
        // Later sessions must be closed too.
        LOG.warn("Cannot close {}, whose owner is gone.", session, t);
      }
    }
  }

  private boolean isOver(Lease l, long now) {
    if (l.orphanedNanos == 0) {
      return false;
    }
    boolean wasIdle = l.orphanedNanos - l.usedNanos > IDLE.toNanos();
    Duration grace = l.linked ? afterLink : wasIdle ? afterIdle : afterConnection;
    return now - l.orphanedNanos > grace.toNanos();
  }

  int size() {
    return leases.size();
  }
}
