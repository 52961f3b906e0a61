package dev.millrace.tensor.math.reduce;

import dev.millrace.tensor.math.Specialized;
import dev.millrace.tensor.math.lanes.LaneType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;

/**
 * What {@link SoftmaxLoop} does, one element at a time and summed in double, for a JVM without the
 * Vector API. A template, see {@link Specialized}.
 */
final class ScalarSoftmaxLoop implements Softmax.Loop {
  private static final LaneType TYPE =
      Specialized.constants(MethodHandles.lookup(), LaneType.class);
  private static final long STEP = TYPE.bytes();

  @Override
  public void softmax(MemorySegment x, long at, MemorySegment y, long to, long rows, long n) {
    for (long r = 0; r < rows; r++) {
      long row = r * n * STEP;
      double sum = exponentials(x, at + row, y, to + row, n, max(x, at + row, n));
      scale(y, to + row, n, 1 / sum);
    }
  }

  @Override
  public void logSoftmax(MemorySegment x, long at, MemorySegment y, long to, long rows, long n) {
    for (long r = 0; r < rows; r++) {
      long from = at + r * n * STEP;
      long out = to + r * n * STEP;
      double max = max(x, from, n);
      double sum = 0;
      for (long i = 0; i < n; i++) {
        sum += Math.exp(get(x, from + i * STEP) - max);
      }
      double log = Math.log(sum);
      for (long i = 0; i < n; i++) {
        set(y, out + i * STEP, get(x, from + i * STEP) - max - log);
      }
    }
  }

  @Override
  public void crossEntropy(
      MemorySegment x,
      MemorySegment labels,
      MemorySegment loss,
      MemorySegment backprop,
      long firstRow,
      long rows,
      long n) {
    for (long r = firstRow; r < firstRow + rows; r++) {
      long at = r * n * STEP;
      double max = max(x, at, n);
      double sum = exponentials(x, at, backprop, at, n, max);
      double log = Math.log(sum);
      double total = 0;
      for (long i = 0; i < n; i++) {
        long p = at + i * STEP;
        double label = get(labels, p);
        total += label * (get(x, p) - max - log);
        set(backprop, p, get(backprop, p) / sum - label);
      }
      set(loss, r * STEP, 0 - total);
    }
  }

  @Override
  public void sparseCrossEntropy(
      MemorySegment x,
      long[] labels,
      MemorySegment loss,
      MemorySegment backprop,
      long firstRow,
      long n) {
    for (int r = 0; r < labels.length; r++) {
      long at = (firstRow + r) * n * STEP;
      long place = at + labels[r] * STEP;
      double max = max(x, at, n);
      double logit = get(x, place);
      double sum = exponentials(x, at, backprop, at, n, max);
      scale(backprop, at, n, 1 / sum);
      set(backprop, place, get(backprop, place) - 1);
      set(loss, (firstRow + r) * STEP, Math.log(sum) - (logit - max));
    }
  }

  /** The largest of n elements. NaN need not come out: it makes the sum of the row NaN anyway. */
  private static double max(MemorySegment x, long at, long n) {
    double max = Double.NEGATIVE_INFINITY;
    for (long i = 0; i < n; i++) {
      double v = get(x, at + i * STEP);
      max = v > max ? v : max;
    }
    return max;
  }

  /** Sets {@code y} to e to the power of {@code x - max}; gives the sum. */
  private static double exponentials(
      MemorySegment x, long at, MemorySegment y, long to, long n, double max) {
    double sum = 0;
    for (long i = 0; i < n; i++) {
      double e = Math.exp(get(x, at + i * STEP) - max);
      set(y, to + i * STEP, e);
      sum += e;
    }
    return sum;
  }

  private static void scale(MemorySegment y, long at, long n, double factor) {
    for (long i = 0; i < n; i++) {
      set(y, at + i * STEP, get(y, at + i * STEP) * factor);
    }
  }

  private static double get(MemorySegment x, long at) {
    return TYPE == LaneType.FLOAT
        ? x.get(ValueLayout.JAVA_FLOAT_UNALIGNED, at)
        : x.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, at);
  }

  private static void set(MemorySegment y, long at, double v) {
    if (TYPE == LaneType.FLOAT) {
      y.set(ValueLayout.JAVA_FLOAT_UNALIGNED, at, (float) v);
    } else {
      y.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, at, v);
    }
  }
}
