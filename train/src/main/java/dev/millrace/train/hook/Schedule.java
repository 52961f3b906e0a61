package dev.millrace.train.hook;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import java.time.Duration;

/**
 * When a hook acts: every so many steps, or whenever so much time has passed. The first step it is
 * asked about is always one.
 */
public final class Schedule {
  private final Timers timers;
  private final long steps;
  private final long nanos;
  private boolean started;
  private long lastStep;
  private long lastNanos;

  private Schedule(long steps, long nanos, Timers timers) {
    this.timers = timers;
    this.steps = steps;
    this.nanos = nanos;
  }

  /** Every {@code n} steps. */
  public static Schedule everySteps(long n) {
    if (n < 1) {
      throw MillraceException.invalid("A hook cannot act every %d steps; need at least 1.", n);
    }
    return new Schedule(n, Long.MAX_VALUE, Context.current().timers());
  }

  /** Whenever {@code time} has passed. */
  public static Schedule every(Duration time) {
    return every(time, Context.current().timers());
  }

  /** Whenever {@code time} has passed by this clock. */
  public static Schedule every(Duration time, Timers timers) {
    if (time.isNegative() || time.isZero()) {
      throw MillraceException.invalid("A hook cannot act every %s; need a span of time.", time);
    }
    return new Schedule(Long.MAX_VALUE, time.toNanos(), timers);
  }

  /** At the first step only. */
  public static Schedule never() {
    return new Schedule(Long.MAX_VALUE, Long.MAX_VALUE, Context.current().timers());
  }

  /** Whether it is time to act at {@code step}. */
  public boolean isDue(long step) {
    return !started || step - lastStep >= steps || timers.now() - lastNanos >= nanos;
  }

  /** The hook has acted at {@code step}. */
  public void acted(long step) {
    started = true;
    lastStep = step;
    lastNanos = timers.now();
  }

  /** The last step acted at. */
  long lastStep() {
    return lastStep;
  }

  /** Seconds since it acted. */
  double secondsSince() {
    return (timers.now() - lastNanos) / 1e9;
  }

  /** Whether it has acted at all. */
  boolean hasActed() {
    return started;
  }
}
