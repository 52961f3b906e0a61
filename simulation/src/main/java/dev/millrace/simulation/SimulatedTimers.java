package dev.millrace.simulation;

import dev.millrace.base.Timers;
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
 * The time of a simulation. A timed wait is an untimed one that an event of the simulation
 * interrupts at its end, so the JDK's own blocking classes work unchanged.
 *
 * <p>Threading: the threads of the simulation.
 */
final class SimulatedTimers implements Timers {
  private static final long EPOCH_SECOND = 1_700_000_000L;

  /** A wait without a limit. */
  @FunctionalInterface
  private interface Wait {
    void run() throws InterruptedException;
  }

  private final Simulation simulation;
  private final SimulatedProcess process;
  private SimulatedSchedule shared;

  SimulatedTimers(Simulation simulation, SimulatedProcess process) {
    this.simulation = simulation;
    this.process = process;
  }

  @Override
  public long now() {
    return simulation.now();
  }

  @Override
  public Instant wallTime() {
    return Instant.ofEpochSecond(EPOCH_SECOND).plusNanos(simulation.now());
  }

  @Override
  public long spinLimit(long nanos) {
    return 0;
  }

  /** Interrupts a thread that has waited long enough, and remembers that it did. */
  private static final class Alarm implements Runnable {
    private final Thread thread = Thread.currentThread();
    private boolean rang;

    @Override
    public void run() {
      if (!thread.isInterrupted()) {
        rang = true;
        thread.interrupt();
      }
    }
  }

  private void within(long nanos, Wait wait) throws InterruptedException {
    if (nanos <= 0) {
      return;
    }
    Alarm alarm = new Alarm();
    SimulatedEvent end = simulation.after(nanos, alarm);
    try {
      wait.run();
    } catch (InterruptedException e) {
      if (!alarm.rang) {
        throw e;
      }
    } finally {
      end.cancel();
      if (alarm.rang) {
        Thread.interrupted();
      }
    }
  }

  @Override
  public void sleep(long nanos) throws InterruptedException {
    CountDownLatch never = new CountDownLatch(1);
    within(nanos, never::await);
  }

  @Override
  public void park(Object blocker, long nanos) {
    if (nanos > 0) {
      simulation.park(blocker, nanos);
    }
  }

  @Override
  public <T> T get(Future<T> future, long nanos)
      throws InterruptedException, ExecutionException, TimeoutException {
    if (!future.isDone()) {
      within(nanos, () -> awaitDone(future));
    }
    if (!future.isDone()) {
      throw new TimeoutException();
    }
    return future.get();
  }

  /** Its result or failure is looked at by the caller. */
  private static void awaitDone(Future<?> future) throws InterruptedException {
    try {
      future.get();
    } catch (ExecutionException | java.util.concurrent.CancellationException e) {
      // Done.
    }
  }

  @Override
  public boolean await(CountDownLatch latch, long nanos) throws InterruptedException {
    within(nanos, latch::await);
    return latch.getCount() == 0;
  }

  @Override
  public void await(Condition condition, long nanos) throws InterruptedException {
    within(nanos, condition::await);
  }

  @Override
  public <T> T poll(BlockingQueue<T> queue, long nanos) throws InterruptedException {
    Object[] taken = new Object[1];
    within(nanos, () -> taken[0] = queue.take());
    @SuppressWarnings("unchecked")
    T result = (T) taken[0];
    return result != null ? result : queue.poll();
  }

  @Override
  public boolean tryAcquire(Semaphore semaphore, long nanos) throws InterruptedException {
    boolean[] acquired = new boolean[1];
    within(
        nanos,
        () -> {
          semaphore.acquire();
          acquired[0] = true;
        });
    return acquired[0] || semaphore.tryAcquire();
  }

  @Override
  public boolean tryLock(Lock lock, long nanos) throws InterruptedException {
    boolean[] locked = new boolean[1];
    within(
        nanos,
        () -> {
          lock.lockInterruptibly();
          locked[0] = true;
        });
    return locked[0] || lock.tryLock();
  }

  @Override
  public boolean join(Thread thread, long nanos) throws InterruptedException {
    within(nanos, thread::join);
    return !thread.isAlive();
  }

  @Override
  public Timer later(long nanos, Runnable action) {
    if (shared == null) {
      shared = new SimulatedSchedule(simulation, process, "millrace-timers");
    }
    return shared.later(nanos, action);
  }

  @Override
  public Schedule schedule(String threadName) {
    return new SimulatedSchedule(simulation, process, threadName);
  }
}
