package dev.millrace.simulation;

import dev.millrace.base.Timers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;

/**
 * Simulated processes, their time and their network. The thread that calls {@link #runUntil} runs
 * one thread of one process until that waits, then another that the seed chooses. If none can run,
 * time jumps to the next event.
 *
 * <p>Threading: the thread that made it, and the simulated threads that run on it.
 */
public final class Simulation {
  /** Turns without any time passing after which a thread must be spinning. */
  private static final int MOST_TURNS = 2_000_000;

  private static final int SHOWN_FRAMES = 12;

  /** How long a thread of the JVM may keep a monitor that a simulated thread wants. */
  private static final long MONITOR_NANOS = 10_000_000_000L;

  /** A thread that can go on. */
  private record Turn(SimulatedThread thread, Runnable continuation) {}

  private final SplittableRandom random;
  private final EventHash history = new EventHash();
  private final PriorityQueue<SimulatedEvent> events = new PriorityQueue<>();
  private final List<Turn> ready = new ArrayList<>();

  /** Where continuations arrive: the JDK may submit them in the middle of an unpark. */
  private final Queue<Turn> arrived = new ConcurrentLinkedQueue<>();

  private final List<SimulatedProcess> processes = new ArrayList<>();
  private final SimulatedNetwork network;
  private long nowNanos;
  private long nextEvent;
  private int threads;
  private int turns;

  /** A simulation in which nothing runs yet. */
  public Simulation(long seed) {
    random = new SplittableRandom(seed);
    nowNanos = random.nextLong(1_000_000_000L);
    network = new SimulatedNetwork(this);
  }

  /** Simulated time, in nanoseconds. */
  public long now() {
    return nowNanos;
  }

  /** The random numbers of the scheduler and the network, by the seed. */
  public RandomGenerator random() {
    return random;
  }

  /** The network between all processes. */
  public SimulatedNetwork network() {
    return network;
  }

  /** A number that differs if anything ran in another order, at another time or on other data. */
  public long historyHash() {
    return history.hash();
  }

  EventHash history() {
    return history;
  }

  /** A new process on a host of its own. */
  public SimulatedProcess process(String name) {
    return process(name, network.newAddress());
  }

  /** A new process at an address that an earlier, killed one had. */
  public SimulatedProcess process(String name, String address) {
    SimulatedProcess p = new SimulatedProcess(this, name, address, random.nextLong());
    processes.add(p);
    return p;
  }

  // ---- time ----

  /** Runs {@code action} after this time, between two turns of threads. */
  public SimulatedEvent after(Duration time, Runnable action) {
    return after(time.toNanos(), action);
  }

  SimulatedEvent after(long nanos, Runnable action) {
    long at = nowNanos + Math.max(0, nanos);
    SimulatedEvent e = new SimulatedEvent(at < 0 ? Long.MAX_VALUE : at, nextEvent++, action);
    events.add(e);
    return e;
  }

  /** Pauses the calling simulated thread until it is unparked, at most this long. */
  void park(Object blocker, long nanos) {
    Thread self = Thread.currentThread();
    SimulatedEvent end = after(nanos, () -> LockSupport.unpark(self));
    LockSupport.park(blocker);
    end.cancel();
  }

  // ---- turns ----

  int nextThread() {
    return threads++;
  }

  /** Takes a thread that can go on. */
  void submit(SimulatedThread thread, Runnable continuation) {
    arrived.add(new Turn(thread, continuation));
  }

  /**
   * Runs the processes until {@code done} is true. Fails, and says what every thread waits for, if
   * it is not after {@code limit} of simulated time.
   */
  public void runUntil(BooleanSupplier done, Duration limit) {
    long end = nowNanos + limit.toNanos();
    while (!done.getAsBoolean()) {
      if (!takeTurn() && !nextEvent(end)) {
        throw new AssertionError(
            "Not done after %d s of simulated time:%n%s".formatted(limit.toSeconds(), describe()));
      }
    }
  }

  private boolean takeTurn() {
    for (Turn t = arrived.poll(); t != null; t = arrived.poll()) {
      ready.add(t);
    }
    if (ready.isEmpty()) {
      return false;
    }
    int which = random.nextInt(ready.size());
    Turn turn = ready.get(which);
    ready.set(which, ready.getLast());
    ready.removeLast();
    if (turn.thread.process().takes(() -> submit(turn.thread, turn.continuation))) {
      history.add(nowNanos, turn.thread.number());
      if (++turns > MOST_TURNS) {
        throw new AssertionError("A thread spins: time stands still.\n" + describe());
      }
      turn.continuation.run();
      if (turn.thread.thread().getState() == Thread.State.BLOCKED) {
        awaitMonitor(turn.thread);
      }
    }
    return true;
  }

  /**
   * Lets a thread that came upon a monitor go on before any other. Its owner must be a thread of
   * the JVM outside this simulation, such as that of another simulation, and give it back soon: the
   * JDK, not the seed, decides when a thread gets a monitor.
   */
  private void awaitMonitor(SimulatedThread thread) {
    long start = Timers.system().now();
    while (thread.thread().getState() == Thread.State.BLOCKED || !goesOn(thread)) {
      if (Timers.system().since(start) > MONITOR_NANOS) {
        throw new AssertionError(
            "A thread waits for a monitor whose owner waits too. Use a Lock there.\n" + describe());
      }
      Thread.yield();
    }
  }

  /** Whether the turn of a thread has arrived, and is over now. */
  private boolean goesOn(SimulatedThread thread) {
    for (Turn t : arrived) {
      if (t.thread == thread) {
        arrived.remove(t);
        t.continuation.run();
        return thread.thread().getState() != Thread.State.BLOCKED;
      }
    }
    return false;
  }

  private boolean nextEvent(long endNanos) {
    SimulatedEvent e = events.poll();
    while (e != null && e.isCancelled()) {
      e = events.poll();
    }
    if (e == null || e.atNanos() > endNanos) {
      return false;
    }
    if (e.atNanos() > nowNanos) {
      nowNanos = e.atNanos();
      turns = 0;
    }
    e.run();
    return true;
  }

  private String describe() {
    StringBuilder text = new StringBuilder();
    for (SimulatedProcess p : processes) {
      for (Thread t : p.isAlive() ? p.threads() : List.<Thread>of()) {
        text.append(p.name()).append(": ").append(t.getName()).append(' ').append(t.getState());
        StackTraceElement[] frames = t.getStackTrace();
        for (int i = 0; i < Math.min(SHOWN_FRAMES, frames.length); i++) {
          text.append("\n    at ").append(frames[i]);
        }
        text.append('\n');
      }
    }
    return text.toString();
  }
}
