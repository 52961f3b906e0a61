package dev.millrace.tensor.math.reduce;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;

/** Finds where the largest or smallest element stands. */
public final class Extremum {
  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;

  private Extremum() {}

  /**
   * For {@code x} taken as {@code [outer, n, inner]}, the position along the middle dimension of
   * the largest (or smallest) element, the first of equals, as {@code [outer, inner]} in {@code y}.
   * NaN is neither; where nothing else is there the position is 0.
   */
  public static void position(boolean max, long outer, long n, long inner, Tensor x, Tensor y) {
    Parallel.run(
        outer * inner,
        1 + (1 << 14) / n,
        (from, to) -> {
          for (long line = from; line < to; line++) {
            long start = line / inner * n * inner + line % inner;
            y.setLong(line, find(max, start, n, inner, x));
          }
        });
    Reference.reachabilityFence(x);
    Reference.reachabilityFence(y);
  }

  private static long find(boolean max, long start, long n, long step, Tensor x) {
    if (x.dtype() == DType.FLOAT) {
      return inFloats(max, start, n, step, x.data());
    }
    return x.dtype().isFloating() ? inReals(max, start, n, step, x) : whole(max, start, n, step, x);
  }

  private static long inFloats(boolean max, long start, long n, long step, MemorySegment x) {
    float best = max ? Float.NEGATIVE_INFINITY : Float.POSITIVE_INFINITY;
    long at = 0;
    for (long i = 0; i < n; i++) {
      float v = x.getAtIndex(F32, start + i * step);
      if (max ? v > best : v < best) {
        best = v;
        at = i;
      }
    }
    return at;
  }

  private static long inReals(boolean max, long start, long n, long step, Tensor x) {
    double best = max ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY;
    long at = 0;
    for (long i = 0; i < n; i++) {
      double v = x.doubleAt(start + i * step);
      if (max ? v > best : v < best) {
        best = v;
        at = i;
      }
    }
    return at;
  }

  private static long whole(boolean max, long start, long n, long step, Tensor x) {
    // Flipping the highest bit makes unsigned order signed order.
    long flip = x.dtype() == DType.UINT64 ? Long.MIN_VALUE : 0;
    long best = x.longAt(start) ^ flip;
    long at = 0;
    for (long i = 1; i < n; i++) {
      long v = x.longAt(start + i * step) ^ flip;
      if (max ? v > best : v < best) {
        best = v;
        at = i;
      }
    }
    return at;
  }
}
