package dev.millrace.cluster;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The threads of a task, which wait far more often than they compute. A limited number are the
 * operating system's; what finds them all taken, or finds that the system gives no more, gets a
 * virtual thread, which costs a waiting step little more than its stack. So the steps of a cluster
 * of usual size run as fast as they can, and no number of waiting ones brings the process to the
 * limit of threads that its user or container has.
 *
 * <p>Threading: any thread.
 */
final class TaskThreads implements Executor, AutoCloseable {
  /** How long a thread waits for something to do. */
  private static final int IDLE_SECONDS = 10;

  private final ThreadPoolExecutor pool;
  private final ThreadFactory virtual;

  /** The virtual threads that are at work. */
  private final Set<Thread> others = ConcurrentHashMap.newKeySet();

  /** Threads named {@code name} and a number, of which {@code limit} are the system's. */
  TaskThreads(String name, int limit) {
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
    // What carries virtual threads and wakes them is started now: when it is needed it may be late.
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

  /** Interrupts what is under way. */
  @Override
  public void close() {
    pool.shutdownNow();
    others.forEach(Thread::interrupt);
  }
}
