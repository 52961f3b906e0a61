package dev.millrace.tensor.math.gemm;

import static dev.millrace.tensor.math.AllMemory.ALL;

import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorSpecies;

/**
 * Products of floats with few rows: a row of C is a sum of rows of B, which are read where they
 * lie. Four vectors of C are kept in registers on the way down.
 */
final class RowGemm {
  private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
  private static final ByteOrder ORDER = ByteOrder.LITTLE_ENDIAN;
  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final long VECTOR_BYTES = S.vectorByteSize();

  private RowGemm() {}

  /**
   * Computes {@code cols} elements of a row of C, at these addresses. Strides are in bytes; {@code
   * aStride} leads from one element of the row of A to the next.
   */
  static void multiply(
      int k, int cols, long a, long aStride, long b, long bStride, long c, boolean add) {
    int j = 0;
    for (; j <= cols - 4 * S.length(); j += 4 * S.length()) {
      four(k, a, aStride, b + j * 4L, bStride, c + j * 4L, add);
    }
    for (; j < cols; j += S.length()) {
      one(k, a, aStride, b + j * 4L, bStride, c + j * 4L, cols - j, add);
    }
  }

  private static void four(int k, long a, long aStride, long b, long bStride, long c, boolean add) {
    FloatVector c0 = FloatVector.zero(S);
    FloatVector c1 = FloatVector.zero(S);
    FloatVector c2 = FloatVector.zero(S);
    FloatVector c3 = FloatVector.zero(S);
    for (long p = 0; p < k; p++) {
      FloatVector x = FloatVector.broadcast(S, ALL.get(F32, a + p * aStride));
      long at = b + p * bStride;
      c0 = x.fma(FloatVector.fromMemorySegment(S, ALL, at, ORDER), c0);
      c1 = x.fma(FloatVector.fromMemorySegment(S, ALL, at + VECTOR_BYTES, ORDER), c1);
      c2 = x.fma(FloatVector.fromMemorySegment(S, ALL, at + 2 * VECTOR_BYTES, ORDER), c2);
      c3 = x.fma(FloatVector.fromMemorySegment(S, ALL, at + 3 * VECTOR_BYTES, ORDER), c3);
    }
    if (add) {
      c0 = c0.add(FloatVector.fromMemorySegment(S, ALL, c, ORDER));
      c1 = c1.add(FloatVector.fromMemorySegment(S, ALL, c + VECTOR_BYTES, ORDER));
      c2 = c2.add(FloatVector.fromMemorySegment(S, ALL, c + 2 * VECTOR_BYTES, ORDER));
      c3 = c3.add(FloatVector.fromMemorySegment(S, ALL, c + 3 * VECTOR_BYTES, ORDER));
    }
    c0.intoMemorySegment(ALL, c, ORDER);
    c1.intoMemorySegment(ALL, c + VECTOR_BYTES, ORDER);
    c2.intoMemorySegment(ALL, c + 2 * VECTOR_BYTES, ORDER);
    c3.intoMemorySegment(ALL, c + 3 * VECTOR_BYTES, ORDER);
  }

  private static void one(
      int k, long a, long aStride, long b, long bStride, long c, int cols, boolean add) {
    VectorMask<Float> mask = S.indexInRange(0, cols);
    FloatVector sum =
        add ? FloatVector.fromMemorySegment(S, ALL, c, ORDER, mask) : FloatVector.zero(S);
    for (long p = 0; p < k; p++) {
      FloatVector x = FloatVector.broadcast(S, ALL.get(F32, a + p * aStride));
      sum = x.fma(FloatVector.fromMemorySegment(S, ALL, b + p * bStride, ORDER, mask), sum);
    }
    sum.intoMemorySegment(ALL, c, ORDER, mask);
  }
}
