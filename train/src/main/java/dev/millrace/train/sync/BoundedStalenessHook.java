package dev.millrace.train.sync;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.base.steps.Phase;
import dev.millrace.graph.Scope;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.hook.Coordinator;
import dev.millrace.train.hook.SessionRunArgs;
import dev.millrace.train.hook.SessionRunContext;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.SessionRunValues;
import dev.millrace.train.session.Readiness;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a worker from running too far ahead. The clocks come with every step, so one that is not
 * ahead pays nothing; one that is asks again until the slowest has moved. A worker that has not
 * started yet, has left, or has not moved for long is not waited for.
 */
public final class BoundedStalenessHook implements SessionRunHook {
  /** The clock of a worker that nobody waits for. */
  static final long ABSENT = Long.MAX_VALUE / 2;

  private static final Logger LOG = LoggerFactory.getLogger(BoundedStalenessHook.class);
  private static final long REPORT_NANOS = 5_000_000_000L;
  private static final long FIRST_PAUSE_NANOS = 500_000L;
  private static final long LONGEST_PAUSE_NANOS = 20_000_000L;

  private final BoundedStaleness.ClockNodes nodes;
  private final boolean chief;
  private final int worker;
  private final int bound;
  private final Duration patience;
  private final Staleness ahead = new Staleness();
  private Readiness readiness;
  private Timers timers = Context.current().timers();

  /** The clocks as last read. Replaced, never modified: {@link #waitsFor} reads it too. */
  private volatile long[] clocks;

  BoundedStalenessHook(
      BoundedStaleness.ClockNodes nodes, boolean chief, int worker, int bound, Duration patience) {
    this.nodes = nodes;
    this.chief = chief;
    this.worker = worker;
    this.bound = bound;
    this.patience = patience;
  }

  @Override
  public void begin() {
    readiness = new Readiness(Scope.of(nodes.clocks().graph()), List.of(nodes.clocks()));
  }

  @Override
  public void afterCreateSession(Session session, Coordinator coordinator) {
    timers = coordinator.platform().timers();
    long start = timers.now();
    long reported = start;
    while (!readiness.missing(session, RunOptions.DEFAULT).isEmpty()) {
      if (chief) {
        session.run(nodes.clocks().initializer());
      } else if (timers.now() - start > patience.toNanos()) {
        throw new MillraceException(
            Code.UNAVAILABLE,
            "The chief has not set up the clocks of bounded staleness for "
                + patience.toSeconds()
                + " s.");
      } else {
        if (timers.now() - reported > REPORT_NANOS) {
          reported = timers.now();
          LOG.warn("Waiting for the chief to set up the clocks of bounded staleness.");
        }
        timers.park(this, LONGEST_PAUSE_NANOS);
      }
    }
    join(session);
  }

  /** Joins where the slowest is, so that nobody has to wait for this worker to catch up. */
  private void join(Session session) {
    long[] now = read(session);
    now[worker] = ABSENT;
    long slowest = Arrays.stream(now).min().orElse(0);
    now[worker] = slowest == ABSENT ? 0 : slowest;
    clocks = now;
    set(session, worker, now[worker]);
  }

  @Override
  public Phase phase() {
    return Phase.WAIT;
  }

  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    if (isCountedOut()) {
      joinAgain(context.session());
    }
    if (clocks[worker] - slowest() > bound) {
      await(context.session());
    }
    ahead.add(clocks[worker] - slowest());
    return SessionRunArgs.fetching(nodes.tick().output(0));
  }

  /** Whether another worker has given up on this one. */
  private boolean isCountedOut() {
    return clocks[worker] >= ABSENT;
  }

  private void joinAgain(Session session) {
    LOG.warn("This worker was counted out, as it made no step for long; it joins again.");
    join(session);
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    clocks = values.value(nodes.tick().output(0)).toLongs();
  }

  private void await(Session session) {
    long pause = FIRST_PAUSE_NANOS;
    long seen = slowest();
    long since = timers.now();
    while (true) {
      clocks = read(session);
      if (isCountedOut()) {
        // It was held up itself while it waited.
        joinAgain(session);
        return;
      }
      long slowest = slowest();
      if (clocks[worker] - slowest <= bound) {
        return;
      }
      if (slowest != seen) {
        seen = slowest;
        since = timers.now();
      } else if (timers.now() - since > patience.toNanos()) {
        giveUp(session, slowest);
      }
      if (Thread.currentThread().isInterrupted()) {
        throw new MillraceException(Code.CANCELLED, "Interrupted while waiting for " + waitsFor());
      }
      timers.park(this, pause);
      pause = Math.min(2 * pause, LONGEST_PAUSE_NANOS);
    }
  }

  /** Counts out whoever has not moved; should one come back, it joins again. */
  private void giveUp(Session session, long slowest) {
    for (int i = 0; i < clocks.length; i++) {
      if (clocks[i] == slowest && i != worker) {
        LOG.warn(
            "worker/{} has made no step for {} s and is {} behind: it is not waited for any more.",
            i,
            patience.toSeconds(),
            clocks[worker] - slowest);
        countOut(session, i);
      }
    }
  }

  /** Has nobody wait for worker {@code who} any more. */
  void countOut(Session session, int who) {
    set(session, who, ABSENT);
  }

  private long slowest() {
    return Arrays.stream(clocks).min().orElse(0);
  }

  private long[] read(Session session) {
    try (Tensor t = session.fetch(nodes.clocks().read())) {
      return t.toLongs();
    }
  }

  private void set(Session session, int who, long when) {
    try (Tensor w = Tensor.vector(who);
        Tensor t = Tensor.vector(when)) {
      session.run(Map.of(nodes.who(), w, nodes.when(), t), nodes.set());
    }
  }

  /** How many steps this worker was ahead of the slowest before each of its own. */
  public Staleness ahead() {
    return ahead;
  }

  @Override
  public void figures(BiConsumer<String, Double> to) {
    ahead.figures("steps_ahead", to);
  }

  @Override
  public void end(Session session) {
    countOut(session, worker);
  }

  @Override
  public void abandon(Session session, MillraceException cause) {
    try {
      countOut(session, worker);
    } catch (MillraceException e) {
      LOG.debug("Could not leave: {}", e.getMessage());
    }
  }

  @Override
  public String waitsFor() {
    long[] seen = clocks;
    String behind =
        seen == null || seen[worker] >= ABSENT
            ? ""
            : IntStream.range(0, seen.length)
                .filter(i -> seen[worker] - seen[i] > bound)
                .mapToObj(i -> "worker/" + i + ", " + (seen[worker] - seen[i]) + " steps behind")
                .collect(Collectors.joining(", "));
    return behind.isEmpty() ? null : behind + " (the bound is " + bound + ")";
  }
}
