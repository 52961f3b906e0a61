package dev.millrace.simulation;

import dev.millrace.base.Timers;
import java.util.ArrayDeque;
import java.util.Queue;

/**
 * A schedule whose thread lives only while actions are due.
 *
 * <p>Threading: the threads of the simulation.
 */
final class SimulatedSchedule implements Timers.Schedule {
  private static final long LOOK_NANOS = 1_000_000L;

  /** An action, once or again and again. */
  private final class Action implements Timers.Timer {
    private final Runnable body;
    private final long everyNanos;
    private SimulatedEvent due;
    private boolean cancelled;

    Action(Runnable body, long everyNanos) {
      this.body = body;
      this.everyNanos = everyNanos;
    }

    void plan(long nanos) {
      due = simulation.after(nanos, () -> enqueue(this));
    }

    @Override
    public boolean cancel() {
      boolean waits = due.cancel() || queue.remove(this);
      boolean stops = !cancelled && (waits || everyNanos > 0);
      cancelled = true;
      return stops;
    }
  }

  private final Simulation simulation;
  private final SimulatedProcess process;
  private final String threadName;
  private final Queue<Action> queue = new ArrayDeque<>();
  private boolean running;
  private boolean closed;

  SimulatedSchedule(Simulation simulation, SimulatedProcess process, String threadName) {
    this.simulation = simulation;
    this.process = process;
    this.threadName = threadName;
  }

  @Override
  public Timers.Timer later(long nanos, Runnable action) {
    return plan(nanos, 0, action);
  }

  @Override
  public Timers.Timer every(long nanos, Runnable action) {
    return plan(nanos, nanos, action);
  }

  private Timers.Timer plan(long nanos, long everyNanos, Runnable action) {
    if (closed) {
      return () -> false;
    }
    Action a = new Action(action, everyNanos);
    a.plan(nanos);
    return a;
  }

  private void enqueue(Action a) {
    if (closed || a.cancelled) {
      return;
    }
    queue.add(a);
    if (!running) {
      running = true;
      process.start(threadName, this::drain);
    }
  }

  private void drain() {
    try {
      for (Action a = queue.poll(); a != null; a = queue.poll()) {
        a.body.run();
        if (a.everyNanos > 0 && !closed && !a.cancelled) {
          a.plan(a.everyNanos);
        }
      }
    } finally {
      running = false;
    }
  }

  @Override
  public boolean awaitIdle(long nanos) throws InterruptedException {
    long end = simulation.now() + nanos;
    while (running && simulation.now() < end) {
      process.timers().sleep(LOOK_NANOS);
    }
    return !running;
  }

  @Override
  public void close() {
    closed = true;
    queue.clear();
  }
}
