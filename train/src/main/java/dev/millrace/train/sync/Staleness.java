package dev.millrace.train.sync;

import dev.millrace.base.context.Context;
import java.util.function.BiConsumer;

/**
 * How old the values were that a worker computed its gradients with, in updates that others made
 * meanwhile.
 *
 * <p>Threading: any thread.
 */
public final class Staleness {
  private long count;
  private long late;
  private long sum;
  private long max;

  /** Has {@code millrace status} show the mean from now on. */
  void show() {
    Context.current().gauges().show("staleness", this::mean);
  }

  synchronized void add(long updates) {
    count++;
    late += updates > 0 ? 1 : 0;
    sum += updates;
    max = Math.max(max, updates);
  }

  /** How many gradients were measured. */
  public synchronized long count() {
    return count;
  }

  /** How many of them were late by at least one update. */
  public synchronized long late() {
    return late;
  }

  /** How late they were on average. */
  public synchronized double mean() {
    return count == 0 ? 0 : (double) sum / count;
  }

  /** How late the latest was. */
  public synchronized long max() {
    return max;
  }

  /** Tells mean, maximum and number of the late ones, under names that begin with {@code name}. */
  synchronized void figures(String name, BiConsumer<String, Double> to) {
    to.accept(name + "/mean", mean());
    to.accept(name + "/max", (double) max);
    to.accept(name + "/late", (double) late);
  }

  @Override
  public synchronized String toString() {
    return String.format(
        "%d, of which %d late, by %.2f updates on average and %d at most",
        count, late, mean(), max);
  }
}
