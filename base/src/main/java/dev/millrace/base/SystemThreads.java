package dev.millrace.base;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The threads that serve a task's calls, which wait far more often than they compute. Up to a limit
 * they are platform threads, which start a step fastest. Beyond it, or when the system refuses
 * more, a call runs on a virtual thread. So waiting steps cannot exhaust the thread limit of the
 * user or container.
 *
 * <p>Threading: any thread.
 */
final class SystemThreads implements TaskThreads {
  /** How long an idle platform thread is kept. */
  private static final int IDLE_SECONDS = 10;

  private final ThreadPoolExecutor pool;
  private final ThreadFactory virtual;

  /** Virtual threads that run a call. */
  private final Set<Thread> others = ConcurrentHashMap.newKeySet();

  /** Threads named {@code name} and a number, at most {@code limit} of them platform threads. */
  SystemThreads(String name, int limit) {
    virtual = Thread.ofVirtual().name(name + "v", 0).factory();
    pool =
        new ThreadPoolExecutor(
            0,
            limit,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            Thread.ofPlatform().name(name, 0).daemon().factory(),
            (task, full) -> startVirtual(task));
    // Starts the carrier threads and the timer of virtual threads now: later there may be no room.
    virtual.newThread(() -> LockSupport.parkNanos(1)).start();
  }

  @Override
  public void execute(Runnable task) {
    try {
      pool.execute(task);
    } catch (OutOfMemoryError noMoreThreads) {
      startVirtual(task);
    }
  }

  private void startVirtual(Runnable task) {
    if (pool.isShutdown()) {
      throw new RejectedExecutionException("The task has ended.");
    }
    virtual
        .newThread(
            () -> {
              others.add(Thread.currentThread());
              try {
                task.run();
              } finally {
                others.remove(Thread.currentThread());
              }
            })
        .start();
  }

  @Override
  public void close() {
    pool.shutdownNow();
    others.forEach(Thread::interrupt);
  }
}
