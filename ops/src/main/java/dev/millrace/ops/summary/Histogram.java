package dev.millrace.ops.summary;

import dev.millrace.proto.HistogramProto;
import java.util.Arrays;

/**
 * Counts numbers in TensorFlow's buckets: each a tenth wider than the last, from 1e-12 to 1e20 on
 * both sides of zero, and beyond. A number equal to a limit is in the bucket above it.
 */
public final class Histogram {
  private static final double[] LIMITS = limits();

  private final double[] buckets = new double[LIMITS.length];
  private double min = Double.MAX_VALUE;
  private double max = -Double.MAX_VALUE;
  private double count;
  private double sum;
  private double squares;

  private static double[] limits() {
    double[] positive = new double[1000];
    int n = 0;
    for (double v = 1e-12; v < 1e20; v *= 1.1) {
      positive[n++] = v;
    }
    positive[n++] = Double.MAX_VALUE;
    double[] all = new double[2 * n + 1];
    for (int i = 0; i < n; i++) {
      all[n - 1 - i] = -positive[i];
      all[n + 1 + i] = positive[i];
    }
    return all;
  }

  /** Counts a finite number. */
  public void add(double v) {
    int found = Arrays.binarySearch(LIMITS, v == 0 ? 0.0 : v);
    int above = found >= 0 ? found + 1 : -found - 1;
    buckets[Math.min(above, buckets.length - 1)]++;
    min = Math.min(min, v);
    max = Math.max(max, v);
    count++;
    sum += v;
    squares += v * v;
  }

  /** The message; a run of empty buckets becomes one with the last of their limits. */
  public HistogramProto toProto() {
    HistogramProto.Builder proto =
        HistogramProto.newBuilder()
            .setMin(min)
            .setMax(max)
            .setNum(count)
            .setSum(sum)
            .setSumSquares(squares);
    for (int i = 0; i < buckets.length; i++) {
      boolean runGoesOn = i + 1 < buckets.length && buckets[i] == 0 && buckets[i + 1] == 0;
      if (!runGoesOn) {
        proto.addBucketLimit(LIMITS[i]).addBucket(buckets[i]);
      }
    }
    return proto.build();
  }
}
