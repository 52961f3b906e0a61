package dev.millrace.tensor.math;

import dev.millrace.base.config.ComputeSettings;
import dev.millrace.base.config.Config;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;

/**
 * Splits a loop over the compute threads of the process. The calling thread always takes part, so a
 * call makes progress even when all others are busy, and calls may nest.
 *
 * <p>A loop is offered in one of a few slots, from which helper threads take ranges; when all slots
 * are taken there is enough to do already and the caller works alone. A helper that runs out of
 * work looks for more for a short while before it sleeps, as loops come in bursts, but the less
 * often that pays the shorter it looks: several processes may share the machine.
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

  private static final int SLOTS = 8;
  private static final AtomicReferenceArray<Job> OFFERED = new AtomicReferenceArray<>(SLOTS);

  /** How long a thread spins before it sleeps: a helper for work, a caller for the helpers. */
  private static final long MAX_SPIN_NANOS = 50_000;

  private static final long MIN_SPIN_NANOS = 2_000;

  /** Of so many brief loops one wakes helpers that sleep. */
  private static final int BRIEF_LOOPS_PER_WAKING = 64;

  /** Brief loops so far, about: threads may count at once. */
  private static int briefLoops;

  private static volatile int threads = Config.ofProcess().get(ComputeSettings.THREADS);
  private static volatile Thread[] helpers = new Thread[0];

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
   * Runs {@code body} over 0..n. Ranges are multiples of {@code grain} long but for the last, and
   * not more than {@link #threads}; a loop of at most {@code grain} runs on the caller at once.
   * Which ranges there are depends on the three numbers only. The first failure of a range is
   * thrown when all have ended.
   */
  public static void run(long n, long grain, Range body) {
    run(n, grain, body, true);
  }

  /**
   * The same for a loop so short that waking a thread would take about as long. Helpers that are
   * awake, as they are between loops that come in quick succession, take part of it; those that
   * sleep are only now and then woken, to see whether more loops follow.
   */
  public static void runBrief(long n, long grain, Range body) {
    run(n, grain, body, briefLoops++ % BRIEF_LOOPS_PER_WAKING == 0);
  }

  private static void run(long n, long grain, Range body, boolean wake) {
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
    share(new Job(n, each, body), (int) pieces, wake);
  }

  /**
   * Runs {@code body} for 0..n one by one, each for whoever is free next. For few and long pieces
   * of work, which a thread that is held up should not keep others waiting for.
   */
  public static void each(int n, IntConsumer body) {
    int t = Math.min(threads, n);
    if (t <= 1) {
      for (int i = 0; i < n; i++) {
        body.accept(i);
      }
      return;
    }
    share(new Job(n, 1, (from, _) -> body.accept((int) from)), t, true);
  }

  private static void share(Job job, int workers, boolean wake) {
    int slot = offer(job);
    if (slot >= 0 && wake) {
      wakeHelpers(workers - 1);
    }
    job.work();
    if (slot >= 0) {
      OFFERED.set(slot, null);
    }
    job.await();
  }

  private static int offer(Job job) {
    for (int slot = 0; slot < SLOTS; slot++) {
      if (OFFERED.get(slot) == null && OFFERED.compareAndSet(slot, null, job)) {
        return slot;
      }
    }
    return -1;
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
    Thread[] h = Arrays.copyOf(helpers, Math.max(wanted, helpers.length));
    for (int i = helpers.length; i < wanted; i++) {
      h[i] = Thread.ofPlatform().name("millrace-compute-" + (i + 1)).daemon().start(Parallel::help);
    }
    helpers = h;
    return h;
  }

  private static void help() {
    long patience = MAX_SPIN_NANOS;
    while (true) {
      if (findWork(patience)) {
        patience = Math.min(MAX_SPIN_NANOS, patience * 2);
      } else {
        patience = Math.max(MIN_SPIN_NANOS, patience / 2);
        LockSupport.park();
      }
    }
  }

  /** Works on the first job found; false if there was none for that long. */
  private static boolean findWork(long nanos) {
    long start = System.nanoTime();
    do {
      for (int slot = 0; slot < SLOTS; slot++) {
        Job job = OFFERED.get(slot);
        if (job != null && job.work()) {
          return true;
        }
      }
      Thread.onSpinWait();
    } while (System.nanoTime() - start < nanos);
    return false;
  }

  /** One loop: who comes takes the next range until there is none. */
  private static final class Job {
    private final long n;
    private final long each;
    private final Range body;
    private final AtomicLong next = new AtomicLong();
    private final AtomicLong done = new AtomicLong();
    private volatile Throwable failure;

    /** The caller, once it sleeps until the last range is done. */
    private volatile Thread sleeper;

    Job(long n, long each, Range body) {
      this.n = n;
      this.each = each;
      this.body = body;
    }

    /** Runs ranges until none is left; whether there was any. */
    boolean work() {
      boolean any = false;
      while (next.get() < n) {
        long from = next.getAndAdd(each);
        if (from >= n) {
          break;
        }
        any = true;
        long to = Math.min(n, from + each);
        try {
          body.run(from, to);
        } catch (Throwable t) {
          failure = t;
        }
        if (done.addAndGet(to - from) == n) {
          LockSupport.unpark(sleeper);
        }
      }
      return any;
    }

    /** The caller has found no more ranges; those others took are running and end soon. */
    void await() {
      if (done.get() < n) {
        long start = System.nanoTime();
        while (done.get() < n && System.nanoTime() - start < MAX_SPIN_NANOS) {
          Thread.onSpinWait();
        }
        sleeper = Thread.currentThread();
        while (done.get() < n) {
          LockSupport.park(this);
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
