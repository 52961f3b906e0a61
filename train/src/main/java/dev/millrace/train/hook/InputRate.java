package dev.millrace.train.hook;

import dev.millrace.base.Timers;
import java.util.function.BiConsumer;

/**
 * Counts the examples that a task trains, and how many in a second, for its summaries: {@code
 * input/examples} since the task began, and {@code input/examples_per_sec} since it was asked last.
 *
 * <p>Threading: used by the thread of the steps.
 */
public final class InputRate {
  private final Timers timers;
  private long examples;
  private long before;
  private long since;

  /** Begins to count. */
  public InputRate(Timers timers) {
    this.timers = timers;
    since = timers.now();
  }

  /** A step has trained {@code n} examples. */
  public void trained(long n) {
    examples += n;
  }

  /** Tells {@code to} the figures. */
  public void figures(BiConsumer<String, Double> to) {
    long now = timers.now();
    to.accept("input/examples", (double) examples);
    if (now > since) {
      to.accept("input/examples_per_sec", (examples - before) * 1e9 / (now - since));
    }
    before = examples;
    since = now;
  }
}
