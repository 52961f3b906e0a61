package dev.millrace.tensor.math;

import java.util.function.IntConsumer;

/**
 * Splits a loop over the compute threads of the context that the calling thread runs in.
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

  private Parallel() {}

  /** How many threads a loop is split over, the caller included. */
  public static int threads() {
    return ComputeThreads.current().threads();
  }

  /** Sets how many threads a loop is split over, the caller included; 1 runs all on the caller. */
  public static void setThreads(int n) {
    ComputeThreads.current().setThreads(n);
  }

  /**
   * Runs {@code body} over 0..n. Ranges are multiples of {@code grain} long but for the last, and
   * not more than {@link #threads}; a loop of at most {@code grain} runs on the caller at once.
   * Which ranges there are depends on the three numbers only. The first failure of a range is
   * thrown when all have ended.
   */
  public static void run(long n, long grain, Range body) {
    if (n > grain) {
      ComputeThreads.current().run(n, grain, body);
    } else if (n > 0) {
      body.run(0, n);
    }
  }

  /**
   * The same for a loop so short that waking a thread would take about as long. Helpers that are
   * awake, as they are between loops that come in quick succession, take part of it; those that
   * sleep are only now and then woken, to see whether more loops follow.
   */
  public static void runBrief(long n, long grain, Range body) {
    if (n > grain) {
      ComputeThreads.current().runBrief(n, grain, body);
    } else if (n > 0) {
      body.run(0, n);
    }
  }

  /**
   * Runs {@code body} for 0..n one by one, each for whoever is free next. For few and long pieces
   * of work, which a delayed thread should not keep others waiting for.
   */
  public static void each(int n, IntConsumer body) {
    ComputeThreads.current().each(n, body);
  }
}
