package dev.millrace.train.hook;

import dev.millrace.base.MillraceException;
import java.time.Duration;

/**
 * When a hook acts: every so many steps, or whenever so much time has passed. The first step it is
 * asked about is always one.
 */
public final class Schedule {
  private final long steps;
  private final long nanos;
  private boolean started;
  private long lastStep;
  private long lastNanos;

  private Schedule(long steps, long nanos) {
    this.steps = steps;
    this.nanos = nanos;
  }

  /** Every {@code n} steps. */
  public static Schedule everySteps(long n) {
    if (n < 1) {
      throw MillraceException.invalid("A hook cannot act every %d steps; need at least 1.", n);
    }
    return new Schedule(n, Long.MAX_VALUE);
  }

  /** Whenever {@code time} has passed. */
  public static Schedule every(Duration time) {
    if (time.isNegative() || time.isZero()) {
      throw MillraceException.invalid("A hook cannot act every %s; need a span of time.", time);
    }
    return new Schedule(Long.MAX_VALUE, time.toNanos());
  }

  /** At the first step only. */
  public static Schedule never() {
    return new Schedule(Long.MAX_VALUE, Long.MAX_VALUE);
  }

  /** Whether it is time to act at {@code step}. */
  public boolean isDue(long step) {
    return !started || step - lastStep >= steps || System.nanoTime() - lastNanos >= nanos;
  }

  /** The hook has acted at {@code step}. */
  public void acted(long step) {
    started = true;
    lastStep = step;
    lastNanos = System.nanoTime();
  }

  /** The last step acted at. */
  long lastStep() {
    return lastStep;
  }

  /** Seconds since it acted. */
  double secondsSince() {
    return (System.nanoTime() - lastNanos) / 1e9;
  }

  /** Whether it has acted at all. */
  boolean hasActed() {
    return started;
  }
}
