package dev.millrace.collective;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;

/**
 * How large the buckets of one sequence are. The negotiator has one for every sequence and tells
 * all ranks with each pass what it says, so they never differ. The size of buckets decides when
 * bytes travel, never what comes out.
 *
 * <p>If it is to tune, it tries a few sizes in the first passes, in turns since programs get faster
 * as they warm up, and keeps the one with the shortest time from pass to pass, which is that of a
 * step. Something must be gained for another size than the usual one.
 */
final class BucketTuner {
  /** The usual number of buckets: most of a sequence then overlaps what is computed. */
  private static final int BUCKETS = 8;

  /** Numbers of buckets that are tried, the usual one first. */
  private static final int[] TRIED = {BUCKETS, 1, 2, 4, 16, 32};

  /** Smaller buckets would cost more than they hide. */
  private static final long MIN_BYTES = 256 << 10;

  /** Passes before anything is measured. */
  static final int WARM_UP = 50;

  /** How often the sizes take turns, and passes of a turn; the first of a turn does not count. */
  static final int ROUNDS = 5;

  static final int TURN = 5;

  /** Another size must take less than this share of the usual one's time. */
  private static final double GAIN = .97;

  private final long[] sizes;
  private final List<List<Long>> times = new ArrayList<>();
  private int pass;
  private long lastNanos;
  private long chosen;

  /** For a sequence of so many bytes, with buckets of at most {@code mostBytes}. */
  BucketTuner(long bytes, long mostBytes, boolean tune) {
    LongStream all =
        Arrays.stream(TRIED).mapToLong(n -> Math.min(mostBytes, Math.max(MIN_BYTES, bytes / n)));
    this.sizes = all.distinct().toArray();
    this.chosen = tune && sizes.length > 1 ? -1 : sizes[0];
    for (int i = 0; i < sizes.length; i++) {
      times.add(new ArrayList<>());
    }
  }

  /** The bytes of a bucket in the pass that begins now. */
  long next(long nowNanos) {
    if (chosen >= 0) {
      return chosen;
    }
    int n = pass++ - WARM_UP;
    // What has passed since the last pass began is that one's time.
    int measured = n - 1;
    if (measured >= 0 && measured % TURN > 0) {
      times.get(measured / TURN % sizes.length).add(nowNanos - lastNanos);
    }
    lastNanos = nowNanos;
    if (n < 0) {
      return sizes[0];
    }
    if (n == ROUNDS * TURN * sizes.length) {
      chosen = choose();
      return chosen;
    }
    return sizes[n / TURN % sizes.length];
  }

  private long choose() {
    int best = 0;
    for (int i = 1; i < sizes.length; i++) {
      double limit = best == 0 ? GAIN * median(0) : median(best);
      best = median(i) < limit ? i : best;
    }
    return sizes[best];
  }

  private double median(int size) {
    long[] sorted = times.get(size).stream().mapToLong(Long::longValue).sorted().toArray();
    return sorted[sorted.length / 2];
  }
}
