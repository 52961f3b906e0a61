package dev.millrace.base;

import java.time.Instant;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;

/**
 * The time of this machine, by the JDK.
 *
 * <p>Threading: any thread.
 */
final class SystemTimers implements Timers {
  /** The thread that runs timed actions ends after this long without one. */
  private static final long IDLE_SECONDS = 10;

  private final ThreadSchedule actions;

  SystemTimers(String threadName) {
    actions = new ThreadSchedule(threadName);
    actions.endThreadWhenIdle();
  }

  @Override
  public long now() {
    return System.nanoTime();
  }

  @Override
  public Instant wallTime() {
    return Instant.now();
  }

  @Override
  public void sleep(long nanos) throws InterruptedException {
    TimeUnit.NANOSECONDS.sleep(nanos);
  }

  @Override
  public void park(Object blocker, long nanos) {
    LockSupport.parkNanos(blocker, nanos);
  }

  @Override
  public <T> T get(Future<T> future, long nanos)
      throws InterruptedException, ExecutionException, TimeoutException {
    return future.get(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public boolean await(CountDownLatch latch, long nanos) throws InterruptedException {
    return latch.await(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  @SuppressWarnings("WaitNotInLoop") // The caller loops: it knows what it waits for.
  public void await(Condition condition, long nanos) throws InterruptedException {
    condition.awaitNanos(nanos);
  }

  @Override
  public <T> T poll(BlockingQueue<T> queue, long nanos) throws InterruptedException {
    return queue.poll(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public boolean tryAcquire(Semaphore semaphore, long nanos) throws InterruptedException {
    return semaphore.tryAcquire(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public boolean tryLock(Lock lock, long nanos) throws InterruptedException {
    return lock.tryLock(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public boolean join(Thread thread, long nanos) throws InterruptedException {
    return thread.join(java.time.Duration.ofNanos(nanos));
  }

  @Override
  public Timer later(long nanos, Runnable action) {
    return actions.later(nanos, action);
  }

  @Override
  public Schedule schedule(String threadName) {
    return new ThreadSchedule(threadName);
  }

  /** A schedule on a thread of its own, which starts with the first action. */
  private static final class ThreadSchedule implements Schedule {
    private final ScheduledThreadPoolExecutor executor;

    ThreadSchedule(String threadName) {
      executor =
          new ScheduledThreadPoolExecutor(
              1, Thread.ofPlatform().name(threadName).daemon().factory());
      executor.setRemoveOnCancelPolicy(true);
    }

    /** Ends the thread while nothing is scheduled: nobody closes this schedule. */
    void endThreadWhenIdle() {
      executor.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
      executor.allowCoreThreadTimeOut(true);
    }

    @Override
    public Timer later(long nanos, Runnable action) {
      try {
        return timer(executor.schedule(action, nanos, TimeUnit.NANOSECONDS));
      } catch (RejectedExecutionException closed) {
        return () -> false;
      }
    }

    @Override
    public Timer every(long nanos, Runnable action) {
      return timer(executor.scheduleWithFixedDelay(action, nanos, nanos, TimeUnit.NANOSECONDS));
    }

    private static Timer timer(Future<?> f) {
      return () -> f.cancel(false);
    }

    @Override
    public boolean awaitIdle(long nanos) throws InterruptedException {
      if (executor.isShutdown()) {
        return executor.awaitTermination(nanos, TimeUnit.NANOSECONDS);
      }
      Future<?> mark = executor.submit(Executors.callable(() -> {}));
      try {
        mark.get(nanos, TimeUnit.NANOSECONDS);
        return true;
      } catch (TimeoutException | ExecutionException e) {
        return false;
      }
    }

    @Override
    public void close() {
      executor.shutdownNow();
    }
  }
}
