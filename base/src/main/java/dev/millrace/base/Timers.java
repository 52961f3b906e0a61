package dev.millrace.base;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/**
 * Time: what it is, waits that end at a deadline, and actions that run later. Code outside this
 * package asks no other clock, so that a test can run it in simulated time.
 *
 * <p>Threading: any thread.
 */
public interface Timers {
  /** The time of this machine. */
  static Timers system() {
    return SystemPlatform.OF_PROCESS.timers();
  }

  /** Nanoseconds since an arbitrary point in time; only differences have a meaning. */
  long now();

  /** The time of day, for stamps in files and messages. It may jump. */
  Instant wallTime();

  /** Nanoseconds between {@code start}, which {@link #now} returned, and now. */
  default long since(long start) {
    return now() - start;
  }

  /**
   * How long a thread may spin before it blocks, if it wants to spin for {@code nanos}. Simulated
   * time stands still while a thread runs, so the answer is 0 there.
   */
  default long spinLimit(long nanos) {
    return nanos;
  }

  // ---- waits ----

  /** Pauses the calling thread. */
  void sleep(long nanos) throws InterruptedException;

  /** Pauses the calling thread. */
  default void sleep(Duration time) throws InterruptedException {
    sleep(time.toNanos());
  }

  /**
   * Pauses the calling thread until it is unparked or interrupted, at most for {@code nanos}. May
   * return early for no reason.
   */
  void park(Object blocker, long nanos);

  /** Waits at most {@code nanos} for the result of a future. */
  <T> T get(Future<T> future, long nanos)
      throws InterruptedException, ExecutionException, TimeoutException;

  /** Waits at most {@code limit} for the result of a future. */
  default <T> T get(Future<T> future, Duration limit)
      throws InterruptedException, ExecutionException, TimeoutException {
    return get(future, limit.toNanos());
  }

  /** Waits at most {@code nanos} until the latch is open; returns whether it is. */
  boolean await(CountDownLatch latch, long nanos) throws InterruptedException;

  /** Waits for a signal, at most {@code nanos}; the caller holds the condition's lock. */
  void await(Condition condition, long nanos) throws InterruptedException;

  /** Takes the head of a queue; returns null if none has come within {@code nanos}. */
  <T> T poll(BlockingQueue<T> queue, long nanos) throws InterruptedException;

  /** Acquires a permit within {@code nanos}; returns whether it did. */
  boolean tryAcquire(Semaphore semaphore, long nanos) throws InterruptedException;

  /** Acquires a lock within {@code nanos}; returns whether it did. */
  boolean tryLock(Lock lock, long nanos) throws InterruptedException;

  /** Waits at most {@code nanos} for the end of a thread; returns whether it has ended. */
  boolean join(Thread thread, long nanos) throws InterruptedException;

  /** Waits at most {@code limit} for the end of a thread; returns whether it has ended. */
  default boolean join(Thread thread, Duration limit) throws InterruptedException {
    return join(thread, limit.toNanos());
  }

  /** Waits at most {@code nanos} for the end of a process; returns whether it has ended. */
  default boolean join(Process process, long nanos) throws InterruptedException {
    try {
      get(process.onExit(), nanos);
      return true;
    } catch (TimeoutException | ExecutionException e) {
      return !process.isAlive();
    }
  }

  // ---- actions that run later ----

  /** Runs {@code action} after {@code nanos}, on a thread all callers share: it must not block. */
  Timer later(long nanos, Runnable action);

  /** A schedule with its own thread, for actions that may block or must not be delayed. */
  Schedule schedule(String threadName);

  /** An action that is to run later. */
  @FunctionalInterface
  interface Timer {
    /** Prevents the action from running; returns false if it has started or has been cancelled. */
    boolean cancel();
  }

  /**
   * Actions that run one after the other on a thread. After {@link #close} none starts.
   *
   * <p>Threading: any thread.
   */
  interface Schedule extends AutoCloseable {
    /** Runs {@code action} after {@code nanos}; never, once the schedule is closed. */
    Timer later(long nanos, Runnable action);

    /** Runs {@code action} again and again, with pauses of {@code nanos}, the first after one. */
    Timer every(long nanos, Runnable action);

    /** Waits at most {@code nanos} for the action that runs now; returns whether none does. */
    boolean awaitIdle(long nanos) throws InterruptedException;

    /** Drops the actions that have not started. Does not wait. */
    @Override
    void close();
  }
}
