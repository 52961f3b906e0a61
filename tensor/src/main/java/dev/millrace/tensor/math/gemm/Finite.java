package dev.millrace.tensor.math.gemm;

import static dev.millrace.tensor.math.AllMemory.ALL;

import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Whether floats in memory are all numbers, neither NaN nor infinite. Zero times a number is zero,
 * but NaN times one of these, so it takes one multiplication and addition of each.
 */
final class Finite {
  private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
  private static final ByteOrder ORDER = ByteOrder.LITTLE_ENDIAN;
  private static final long VECTOR_BYTES = S.vectorByteSize();

  private Finite() {}

  /**
   * Of {@code cols} floats in each of some rows; from one to the next it is {@code stride} bytes.
   */
  static boolean rows(long from, int rows, int cols, long stride) {
    FloatVector sum = FloatVector.zero(S);
    for (long i = 0; i < rows; i++) {
      sum = sum.add(zeroIfFinite(from + i * stride, cols));
    }
    return sum.reduceLanes(VectorOperators.ADD) == 0;
  }

  private static FloatVector zeroIfFinite(long from, int n) {
    FloatVector zero = FloatVector.zero(S);
    FloatVector x = zero;
    FloatVector y = zero;
    int i = 0;
    for (; i <= n - 2 * S.length(); i += 2 * S.length()) {
      long at = from + 4L * i;
      x = FloatVector.fromMemorySegment(S, ALL, at, ORDER).fma(zero, x);
      y = FloatVector.fromMemorySegment(S, ALL, at + VECTOR_BYTES, ORDER).fma(zero, y);
    }
    for (; i < n; i += S.length()) {
      VectorMask<Float> mask = S.indexInRange(i, n);
      x = FloatVector.fromMemorySegment(S, ALL, from + 4L * i, ORDER, mask).fma(zero, x);
    }
    return x.add(y);
  }
}
