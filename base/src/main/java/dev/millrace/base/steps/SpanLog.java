package dev.millrace.base.steps;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The phases of the steps of a task for a short while, one by one, in arrays of a fixed size. What
 * does not fit is left out.
 *
 * <p>Threading: any thread.
 */
final class SpanLog {
  private static final int CAPACITY = 1 << 15;

  private final long[] starts = new long[CAPACITY];
  private final long[] nanos = new long[CAPACITY];
  private final long[] steps = new long[CAPACITY];
  private final int[] rows = new int[CAPACITY];
  private final byte[] phases = new byte[CAPACITY];
  private final AtomicInteger count = new AtomicInteger();

  /** When it ends, by the clock of the history. */
  private final long end;

  SpanLog(long end) {
    this.end = end;
  }

  /** Whether it still records at {@code now}. */
  boolean isOpen(long now) {
    return now - end < 0;
  }

  void add(StepClock clock, Phase phase, long start, long now) {
    int i = count.getAndIncrement();
    if (i < CAPACITY && isOpen(start)) {
      starts[i] = start;
      nanos[i] = now - start;
      steps[i] = clock.step();
      rows[i] = clock.isPart() ? -clock.number() : clock.number();
      phases[i] = (byte) phase.ordinal();
    }
  }

  /** What was recorded, with times since the epoch. */
  List<StepHistory.Span> spans(long epochOffset) {
    List<StepHistory.Span> all = new ArrayList<>();
    int n = Math.min(count.get(), CAPACITY);
    for (int i = 0; i < n; i++) {
      if (nanos[i] > 0) {
        all.add(
            new StepHistory.Span(
                starts[i] + epochOffset, nanos[i], steps[i], rows[i], Phase.ALL.get(phases[i])));
      }
    }
    return all;
  }
}
