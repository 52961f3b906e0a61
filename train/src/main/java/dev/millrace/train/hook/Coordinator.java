package dev.millrace.train.hook;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Several threads that stop together. Any of them may ask for the stop, in peace or because it
 * failed; the first failure is the one {@link #join} throws.
 *
 * <p>Threading: any thread. Actions registered by {@link #onStop} run on the thread that asks for
 * the stop, outside the lock.
 */
public final class Coordinator {
  private static final Logger LOG = LoggerFactory.getLogger(Coordinator.class);

  private final Platform platform;
  private final List<Thread> threads = new ArrayList<>();
  private final CountDownLatch stopped = new CountDownLatch(1);
  private List<Runnable> actions = new ArrayList<>();
  private MillraceException failure;

  /** A thread's work: called once; it may throw. */
  @FunctionalInterface
  public interface Work {
    void run() throws Exception;
  }

  /** Threads of this machine. */
  public Coordinator() {
    this(Context.current().platform());
  }

  /** Threads of a platform. */
  public Coordinator(Platform platform) {
    this.platform = platform;
  }

  /** Where the threads run, and by which clock they wait. */
  public Platform platform() {
    return platform;
  }

  /** Starts a thread that takes part. If {@code work} throws, all are asked to stop. */
  public synchronized Thread start(String name, Work work) {
    Thread thread =
        platform.newThread(
            name,
            () -> {
              try {
                work.run();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              } catch (Throwable e) { // an Error too, or those that wait for it never hear
                requestStop(MillraceException.of(e));
              }
            });
    thread.start();
    threads.add(thread);
    return thread;
  }

  /** Whether the threads have been asked to stop. */
  public boolean shouldStop() {
    return stopped.getCount() == 0;
  }

  /** Asks all to stop. */
  public void requestStop() {
    requestStop(null);
  }

  /** Asks all to stop because of a failure; null for none. Only the first call counts. */
  public void requestStop(MillraceException cause) {
    List<Runnable> toRun;
    synchronized (this) {
      if (shouldStop()) {
        return;
      }
      failure = cause;
      stopped.countDown();
      toRun = actions;
      actions = List.of();
    }
    toRun.forEach(Runnable::run);
  }

  /** Runs {@code action} when the stop is asked for; at once if that has happened. */
  public void onStop(Runnable action) {
    synchronized (this) {
      if (!shouldStop()) {
        actions.add(action);
        return;
      }
    }
    action.run();
  }

  /** Why the stop was asked for; null while it was not, and when it was in peace. */
  public synchronized MillraceException failure() {
    return failure;
  }

  /** Waits until a stop is asked for, at most this long; says whether it was. */
  public boolean awaitStop(Duration limit) throws InterruptedException {
    return platform.timers().await(stopped, limit.toNanos());
  }

  /**
   * Waits for the threads to end once a stop was asked for. Throws what made them stop, and names
   * those that have not ended after {@code grace}.
   */
  public void join(Duration grace) {
    List<Thread> all;
    synchronized (this) {
      all = List.copyOf(threads);
    }
    Timers timers = platform.timers();
    long end = timers.now() + grace.toNanos();
    List<String> alive = new ArrayList<>();
    try {
      for (Thread t : all) {
        if (t != Thread.currentThread() && !timers.join(t, Math.max(1, end - timers.now()))) {
          alive.add(t.getName());
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MillraceException(Code.CANCELLED, "Interrupted while waiting for threads.", e);
    }
    if (failure() != null) {
      throw failure();
    }
    if (!alive.isEmpty()) {
      LOG.warn(
          "Threads {} have not ended {} s after they were asked to.", alive, grace.toSeconds());
    }
  }
}
