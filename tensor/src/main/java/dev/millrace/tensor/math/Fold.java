package dev.millrace.tensor.math;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.lang.ref.Reference;

/** Folds of a tensor over some of its dimensions. Floating elements are folded in double. */
public enum Fold {
  SUM,
  MEAN,
  PROD,
  MAX,
  MIN,
  ALL,
  ANY;

  /** Whether elements of this type can be folded. */
  public boolean supports(DType type) {
    return this == ALL || this == ANY ? type == DType.BOOL : type.isFloating() || type.isIntegral();
  }

  /**
   * Folds {@code x} over the dimensions marked in {@code over} into {@code y}, which has an element
   * for each combination of the others.
   */
  public void run(Tensor x, boolean[] over, Tensor y) {
    int rank = over.length;
    long[] steps = StridedCopy.rowMajor(x.shape().dims());
    long[] keptDims = new long[rank];
    long[] foldDims = new long[rank];
    for (int i = 0; i < rank; i++) {
      keptDims[i] = over[i] ? 1 : x.shape().dim(i);
      foldDims[i] = over[i] ? x.shape().dim(i) : 1;
    }
    long count = 1;
    for (long d : foldDims) {
      count *= d;
    }
    long n = count;
    Parallel.run(
        y.elements(),
        1 + (1 << 14) / Math.max(1, n),
        (from, to) -> {
          for (long k = from; k < to; k++) {
            long start = offset(k, keptDims, steps);
            if (x.dtype().isFloating()) {
              y.setDouble(k, real(x, start, n, foldDims, steps));
            } else {
              y.setLong(k, whole(x, start, n, foldDims, steps));
            }
          }
        });
    Reference.reachabilityFence(x);
    Reference.reachabilityFence(y);
  }

  private static long offset(long k, long[] dims, long[] steps) {
    long at = 0;
    for (int d = dims.length - 1; d >= 0; d--) {
      at += k % dims[d] * steps[d];
      k /= dims[d];
    }
    return at;
  }

  private double real(Tensor x, long start, long n, long[] dims, long[] steps) {
    double r =
        switch (this) {
          case PROD -> 1;
          case MAX -> Double.NEGATIVE_INFINITY;
          case MIN -> Double.POSITIVE_INFINITY;
          default -> 0;
        };
    for (long i = 0; i < n; i++) {
      double v = x.doubleAt(start + offset(i, dims, steps));
      r =
          switch (this) {
            case PROD -> r * v;
            case MAX -> Math.max(r, v);
            case MIN -> Math.min(r, v);
            default -> r + v;
          };
    }
    return this == MEAN ? r / n : r;
  }

  private long whole(Tensor x, long start, long n, long[] dims, long[] steps) {
    long r =
        switch (this) {
          case PROD, ALL -> 1;
          case MAX -> Long.MIN_VALUE;
          case MIN -> Long.MAX_VALUE;
          default -> 0;
        };
    for (long i = 0; i < n; i++) {
      long v = x.longAt(start + offset(i, dims, steps));
      r =
          switch (this) {
            case PROD -> r * v;
            case ALL -> r & v;
            case ANY -> r | v;
            case MAX -> Math.max(r, v);
            case MIN -> Math.min(r, v);
            default -> r + v;
          };
    }
    return this == MEAN && n != 0 ? r / n : r;
  }
}
