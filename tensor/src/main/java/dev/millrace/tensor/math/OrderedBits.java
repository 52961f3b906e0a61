package dev.millrace.tensor.math;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.ValueLayout;

/**
 * Elements of any real type as longs that are ordered as the elements are, so that sorting and
 * hashing need one form only. Zeros of both signs are the same; NaN is above all numbers.
 */
public final class OrderedBits {
  /** What NaN becomes. */
  public static final long NAN = of(Double.NaN);

  private OrderedBits() {}

  /** Element {@code i} of {@code x}, a real or bool tensor. */
  public static long at(Tensor x, long i) {
    if (x.dtype() == DType.FLOAT) {
      return of(x.data().getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i));
    }
    if (x.dtype().isFloating()) {
      return of(x.doubleAt(i));
    }
    return x.dtype() == DType.UINT64 ? x.longAt(i) ^ Long.MIN_VALUE : x.longAt(i);
  }

  private static long of(double v) {
    // Adding 0 makes the negative zero positive.
    long bits = Double.doubleToLongBits(v + 0.0);
    return bits >= 0 ? bits : bits ^ Long.MAX_VALUE;
  }
}
