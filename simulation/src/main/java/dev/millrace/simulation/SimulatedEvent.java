package dev.millrace.simulation;

import dev.millrace.base.Timers;

/** Something that happens at a point of simulated time, unless it is cancelled before. */
public final class SimulatedEvent implements Comparable<SimulatedEvent>, Timers.Timer {
  private final long atNanos;
  private final long order;
  private Runnable action;

  SimulatedEvent(long atNanos, long order, Runnable action) {
    this.atNanos = atNanos;
    this.order = order;
    this.action = action;
  }

  long atNanos() {
    return atNanos;
  }

  boolean isCancelled() {
    return action == null;
  }

  void run() {
    Runnable todo = action;
    action = null;
    todo.run();
  }

  @Override
  public boolean cancel() {
    boolean was = action != null;
    action = null;
    return was;
  }

  /** Earlier events first; of one time, those that were planned first. */
  @Override
  public int compareTo(SimulatedEvent other) {
    int byTime = Long.compare(atNanos, other.atNanos);
    return byTime != 0 ? byTime : Long.compare(order, other.order);
  }
}
