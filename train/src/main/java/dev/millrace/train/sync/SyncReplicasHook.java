package dev.millrace.train.sync;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.session.Coordinator;
import dev.millrace.train.session.SessionRunArgs;
import dev.millrace.train.session.SessionRunContext;
import dev.millrace.train.session.SessionRunHook;
import dev.millrace.train.session.SessionRunValues;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A task's part in synchronous training. The chief's prepares the accumulators and applies the
 * averages on a thread of its own; every task's counts the gradients that came too late, and takes
 * the worker out in the end so that the others do not wait for it.
 */
public final class SyncReplicasHook implements SessionRunHook {
  private static final Logger LOG = LoggerFactory.getLogger(SyncReplicasHook.class);
  private static final Duration LEAVE = Duration.ofSeconds(10);
  private static final long FIRST_PAUSE_NANOS = 200_000L;
  private static final long LONGEST_PAUSE_NANOS = 20_000_000L;

  private final SyncNodes nodes;
  private final boolean chief;
  private final String awaited;
  private final Staleness staleness = new Staleness();
  private volatile boolean leaving;

  /** Whether each worker has one gradient in each step: no spares, no repetitions. */
  private final boolean oneEach;

  /** The step that the gradients under way are for. */
  private long step;

  SyncReplicasHook(SyncNodes nodes, boolean chief, int aggregated, int total) {
    this.nodes = nodes;
    this.chief = chief;
    this.oneEach = aggregated == total;
    this.awaited =
        chief
            ? "the gradients of " + aggregated + " of " + total + " workers"
            : "a token from the chief, which waits for the gradients of "
                + aggregated
                + " of "
                + total
                + " workers";
  }

  @Override
  public void afterCreateSession(Session session, Coordinator coordinator) {
    if (chief) {
      long before = read(session, nodes.chiefsBefore());
      session.run(nodes.chiefInit());
      session.run(before == 0 ? nodes.initTokens() : nodes.renewTokens());
      coordinator.start("sync_replicas", () -> applyAverages(session, coordinator));
    } else {
      session.run(nodes.localInit());
    }
    step = read(session, nodes.localStep().read());
  }

  private static long read(Session session, Output value) {
    try (Tensor t = session.fetch(value)) {
      return t.longValue();
    }
  }

  private void applyAverages(Session session, Coordinator coordinator) {
    while (!coordinator.shouldStop()) {
      try {
        session.run(nodes.sync());
      } catch (MillraceException e) {
        boolean closed = e.code() == Code.CANCELLED || e.code() == Code.OUT_OF_RANGE;
        if (leaving || closed && coordinator.shouldStop()) {
          return;
        }
        throw e;
      }
    }
  }

  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    return SessionRunArgs.fetching(nodes.staleness());
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    staleness.add(Math.max(0, values.value(nodes.staleness()).longValue()));
    if (oneEach && context.targets().contains(nodes.train())) {
      step = ownToken(context.session());
    }
  }

  /**
   * A token of the step that this worker's gradients are in already is that of another, who was
   * slow to take it: it goes back, or this worker would stand in for that one in the average.
   */
  private long ownToken(Session session) {
    long token = read(session, nodes.localStep().read());
    for (long pause = FIRST_PAUSE_NANOS;
        token == step && read(session, nodes.globalStep().read()) == step;
        pause = Math.min(2 * pause, LONGEST_PAUSE_NANOS)) {
      session.run(nodes.giveBack());
      LockSupport.parkNanos(pause);
      token = read(session, nodes.takeAgain());
    }
    return token;
  }

  /** How late this worker's gradients were; those late by 1 or more were dropped. */
  public Staleness staleness() {
    return staleness;
  }

  @Override
  public void end(Session session) {
    leave(session);
  }

  @Override
  public void abandon(Session session, MillraceException cause) {
    leave(session);
  }

  /** The chief frees all who wait; any other worker sees to it that nobody waits for it. */
  private void leave(Session session) {
    LOG.info("This worker's gradients: {}.", staleness);
    leaving = true;
    try {
      session.run(
          Map.of(),
          List.of(),
          List.of(chief ? nodes.cancel() : nodes.leave()),
          RunOptions.DEFAULT.withTimeout(LEAVE));
    } catch (MillraceException e) {
      LOG.warn("Could not tell the others that this worker leaves: {}", e.getMessage());
    }
  }

  @Override
  public String waitsFor() {
    return awaited;
  }
}
