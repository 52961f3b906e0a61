package dev.millrace.tensor.math;

import dev.millrace.base.config.ComputeSettings;
import dev.millrace.base.context.Context;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;

/**
 * Splits a loop over the compute threads of a context. The calling thread always takes part, so a
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
final class ComputeThreads implements AutoCloseable {
  private static final Context.Part<ComputeThreads> PART = Context.Part.of(ComputeThreads::new);

  private static final int SLOTS = 8;

  /** How long a thread spins before it sleeps: a helper for work, a caller for the helpers. */
  private static final long MAX_SPIN_NANOS = 50_000;

  private static final long MIN_SPIN_NANOS = 2_000;

  /** Of so many brief loops one wakes helpers that sleep. */
  private static final int BRIEF_LOOPS_PER_WAKING = 64;

  private final Context context;
  private final AtomicReferenceArray<Job> offered = new AtomicReferenceArray<>(SLOTS);

  /** Brief loops so far, about: threads may count at once. */
  private int briefLoops;

  private volatile int threads;
  private volatile Thread[] helpers = new Thread[0];
  private volatile boolean closed;

  private ComputeThreads(Context context) {
    this.context = context;
    threads = context.config().get(ComputeSettings.THREADS);
  }

  /** Those of the context that the calling thread runs in. */
  static ComputeThreads current() {
    return Context.current().get(PART);
  }

  int threads() {
    return threads;
  }

  void setThreads(int n) {
    if (n < 1) {
      throw new IllegalArgumentException("compute threads must be at least 1, not " + n);
    }
    threads = n;
  }

  /** As {@link Parallel#run}. */
  void run(long n, long grain, Parallel.Range body) {
    run(n, grain, body, true);
  }

  /** As {@link Parallel#runBrief}. */
  void runBrief(long n, long grain, Parallel.Range body) {
    run(n, grain, body, briefLoops++ % BRIEF_LOOPS_PER_WAKING == 0);
  }

  private void run(long n, long grain, Parallel.Range body, boolean wake) {
    int t = threads;
    if (t == 1) {
      body.run(0, n);
      return;
    }
    long pieces = Math.min(t, (n + grain - 1) / grain);
    long each = (n + pieces - 1) / pieces;
    each = (each + grain - 1) / grain * grain;
    share(new Job(n, each, body), (int) pieces, wake);
  }

  /** As {@link Parallel#each}. */
  void each(int n, IntConsumer body) {
    int t = Math.min(threads, n);
    if (t <= 1) {
      for (int i = 0; i < n; i++) {
        body.accept(i);
      }
      return;
    }
    share(new Job(n, 1, (from, _) -> body.accept((int) from)), t, true);
  }

  private void share(Job job, int workers, boolean wake) {
    int slot = offer(job);
    if (slot >= 0 && wake) {
      wakeHelpers(workers - 1);
    }
    job.work();
    if (slot >= 0) {
      offered.set(slot, null);
    }
    job.await();
  }

  private int offer(Job job) {
    for (int slot = 0; slot < SLOTS; slot++) {
      if (offered.get(slot) == null && offered.compareAndSet(slot, null, job)) {
        return slot;
      }
    }
    return -1;
  }

  private void wakeHelpers(int wanted) {
    Thread[] h = helpers;
    if (h.length < wanted) {
      h = startHelpers(wanted);
    }
    for (int i = 0; i < wanted; i++) {
      LockSupport.unpark(h[i]);
    }
  }

  private synchronized Thread[] startHelpers(int wanted) {
    String prefix =
        context == Context.ofProcess() ? "millrace-compute-" : "millrace-compute-" + context + "-";
    Thread[] h = Arrays.copyOf(helpers, Math.max(wanted, helpers.length));
    for (int i = helpers.length; i < wanted; i++) {
      h[i] = context.platform().newThread(prefix + (i + 1), this::help);
      h[i].start();
    }
    helpers = h;
    return h;
  }

  private void help() {
    long patience = MAX_SPIN_NANOS;
    while (!closed) {
      if (findWork(patience)) {
        patience = Math.min(MAX_SPIN_NANOS, patience * 2);
      } else {
        patience = Math.max(MIN_SPIN_NANOS, patience / 2);
        LockSupport.park();
      }
    }
  }

  /** Ends the helpers. Loops that run go on; those that begin later run on their callers. */
  @Override
  public void close() {
    threads = 1;
    closed = true;
    for (Thread h : helpers) {
      LockSupport.unpark(h);
    }
  }

  /** Works on the first job found; false if there was none for that long. */
  private boolean findWork(long nanos) {
    long start = System.nanoTime();
    do {
      for (int slot = 0; slot < SLOTS; slot++) {
        Job job = offered.get(slot);
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
    private final Parallel.Range body;
    private final AtomicLong next = new AtomicLong();
    private final AtomicLong done = new AtomicLong();
    private volatile Throwable failure;

    /** The caller, once it sleeps until the last range is done. */
    private volatile Thread sleeper;

    Job(long n, long each, Parallel.Range body) {
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
