package dev.millrace.train.hook;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.runtime.Session;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.variable.GraphVariable;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets this task begin only when the others have reached a step, so that asynchronous workers start
 * one after the other.
 */
public final class GlobalStepWaiterHook implements SessionRunHook {
  private static final Logger LOG = LoggerFactory.getLogger(GlobalStepWaiterHook.class);
  private static final long PAUSE_NANOS = 100_000_000L;
  private static final long REPORT_NANOS = 10_000_000_000L;

  private final GraphVariable step;
  private final long first;
  private final Duration limit;
  private boolean begun;

  /** Waits for step {@code first}, at most {@code limit}. */
  public GlobalStepWaiterHook(GraphVariable globalStep, long first, Duration limit) {
    this.step = globalStep;
    this.first = first;
    this.limit = limit;
  }

  @Override
  public void afterCreateSession(Session session, Coordinator coordinator) {
    Timers timers = coordinator.platform().timers();
    long start = timers.now();
    long reported = start;
    while (!begun) {
      long now = GlobalStep.now(session, step);
      begun = now >= first;
      if (begun) {
        return;
      }
      long waited = timers.now() - start;
      if (waited > limit.toNanos()) {
        throw new MillraceException(
            Code.DEADLINE_EXCEEDED,
            String.format(
                "This task begins at step %d, but the others are at %d after %d s. Are they"
                    + " running?",
                first, now, limit.toSeconds()));
      }
      if (timers.now() - reported > REPORT_NANOS) {
        reported = timers.now();
        LOG.info("Waiting for step {} to begin; the others are at {}.", first, now);
      }
      if (Thread.currentThread().isInterrupted()) {
        throw new MillraceException(
            Code.CANCELLED, "Interrupted while waiting for step " + first + " to begin.");
      }
      timers.park(this, PAUSE_NANOS);
    }
  }
}
