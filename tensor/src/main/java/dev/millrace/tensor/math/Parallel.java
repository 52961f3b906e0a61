package dev.millrace.tensor.math;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * Splits a loop over the compute threads of the process. The calling thread always takes part, so a
 * call makes progress even when all others are busy, and calls may nest.
 *
 * <p>Threading: any thread may call {@link #run}; the body is called from several at once, each
 * with a range of its own, and everything it wrote is visible when run returns.
 */
public final class Parallel {
  /** A part of a loop: the indices from {@code from} (inclusive) to {@code to} (exclusive). */
  @FunctionalInterface
  public interface Range {
    void run(long from, long to);
  }

  private static final int MACHINE = Runtime.getRuntime().availableProcessors();
  private static volatile int threads = Integer.getInteger("millrace.threads", MACHINE);
  private static final AtomicReference<Job> OFFERED = new AtomicReference<>();
  private static Thread[] helpers = new Thread[0];

  private Parallel() {}

  /** How many threads a loop is split over, the caller included. */
  public static int threads() {
    return threads;
  }

  /** Sets how many threads a loop is split over, the caller included; 1 runs all on the caller. */
  public static void setThreads(int n) {
    if (n < 1) {
      throw new IllegalArgumentException("compute threads must be at least 1, not " + n);
    }
    threads = n;
  }

  /**
   * Runs {@code body} over 0..n. Ranges are multiples of {@code grain} long but for the last; a
   * loop of at most {@code grain} runs on the caller at once.
   */
  public static void run(long n, long grain, Range body) {
    int t = threads;
    if (t == 1 || n <= grain) {
      if (n > 0) {
        body.run(0, n);
      }
      return;
    }
    long pieces = Math.min(t, (n + grain - 1) / grain);
    long each = (n + pieces - 1) / pieces;
    each = (each + grain - 1) / grain * grain;
    Job job = new Job(n, each, body);
    if (OFFERED.compareAndSet(null, job)) {
      wakeHelpers(t - 1);
      job.work();
      OFFERED.compareAndSet(job, null);
    } else {
      job.work();
    }
    job.await();
  }

  private static void wakeHelpers(int wanted) {
    Thread[] h = helpers;
    if (h.length < wanted) {
      h = startHelpers(wanted);
    }
    for (int i = 0; i < wanted; i++) {
      LockSupport.unpark(h[i]);
    }
  }

  private static synchronized Thread[] startHelpers(int wanted) {
    Thread[] h = java.util.Arrays.copyOf(helpers, Math.max(wanted, helpers.length));
    for (int i = helpers.length; i < wanted; i++) {
      h[i] = Thread.ofPlatform().name("millrace-compute-" + (i + 1)).daemon().start(Parallel::help);
    }
    helpers = h;
    return h;
  }

  /** A helper looks for a job for a short while before it sleeps, as loops come in bursts. */
  private static void help() {
    while (true) {
      for (int spin = 0; spin < 2000; spin++) {
        Job job = OFFERED.get();
        if (job != null && job.hasWork()) {
          job.work();
          spin = 0;
        }
        Thread.onSpinWait();
      }
      LockSupport.park();
    }
  }

  /** One loop: who comes takes the next range until there is none. */
  private static final class Job {
    private final long n;
    private final long each;
    private final Range body;
    private final AtomicLong next = new AtomicLong();
    private final AtomicLong done = new AtomicLong();
    private volatile Throwable failure;

    Job(long n, long each, Range body) {
      this.n = n;
      this.each = each;
      this.body = body;
    }

    boolean hasWork() {
      return next.get() < n;
    }

    void work() {
      while (hasWork()) {
        long from = next.getAndAdd(each);
        if (from >= n) {
          return;
        }
        long to = Math.min(n, from + each);
        try {
          body.run(from, to);
        } catch (Throwable t) {
          failure = t;
        }
        done.addAndGet(to - from);
      }
    }

    /** The caller has found no more ranges; those others took are running and end soon. */
    void await() {
      int spins = 0;
      while (done.get() < n) {
        if (++spins < 10_000) {
          Thread.onSpinWait();
        } else {
          Thread.yield();
        }
      }
      if (failure instanceof RuntimeException e) {
        throw e;
      } else if (failure instanceof Error e) {
        throw e;
      }
    }
  }
}
