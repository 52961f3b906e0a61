package dev.millrace.tensor.math;

import java.lang.foreign.MemorySegment;
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
   * Computes {@code cols} elements of a row of C. Offsets and strides are in bytes; {@code aStride}
   * leads from one element of the row of A to the next.
   */
  static void multiply(
      int k,
      int cols,
      MemorySegment a,
      long aAt,
      long aStride,
      MemorySegment b,
      long bAt,
      long bStride,
      MemorySegment c,
      long cAt,
      boolean add) {
    int j = 0;
    for (; j <= cols - 4 * S.length(); j += 4 * S.length()) {
      four(k, a, aAt, aStride, b, bAt + j * 4L, bStride, c, cAt + j * 4L, add);
    }
    for (; j < cols; j += S.length()) {
      one(k, a, aAt, aStride, b, bAt + j * 4L, bStride, c, cAt + j * 4L, cols - j, add);
    }
  }

  private static void four(
      int k,
      MemorySegment a,
      long aAt,
      long aStride,
      MemorySegment b,
      long bAt,
      long bStride,
      MemorySegment c,
      long cAt,
      boolean add) {
    FloatVector c0 = FloatVector.zero(S);
    FloatVector c1 = FloatVector.zero(S);
    FloatVector c2 = FloatVector.zero(S);
    FloatVector c3 = FloatVector.zero(S);
    for (long p = 0; p < k; p++) {
      FloatVector x = FloatVector.broadcast(S, a.get(F32, aAt + p * aStride));
      long at = bAt + p * bStride;
      c0 = x.fma(FloatVector.fromMemorySegment(S, b, at, ORDER), c0);
      c1 = x.fma(FloatVector.fromMemorySegment(S, b, at + VECTOR_BYTES, ORDER), c1);
      c2 = x.fma(FloatVector.fromMemorySegment(S, b, at + 2 * VECTOR_BYTES, ORDER), c2);
      c3 = x.fma(FloatVector.fromMemorySegment(S, b, at + 3 * VECTOR_BYTES, ORDER), c3);
    }
    if (add) {
      c0 = c0.add(FloatVector.fromMemorySegment(S, c, cAt, ORDER));
      c1 = c1.add(FloatVector.fromMemorySegment(S, c, cAt + VECTOR_BYTES, ORDER));
      c2 = c2.add(FloatVector.fromMemorySegment(S, c, cAt + 2 * VECTOR_BYTES, ORDER));
      c3 = c3.add(FloatVector.fromMemorySegment(S, c, cAt + 3 * VECTOR_BYTES, ORDER));
    }
    c0.intoMemorySegment(c, cAt, ORDER);
    c1.intoMemorySegment(c, cAt + VECTOR_BYTES, ORDER);
    c2.intoMemorySegment(c, cAt + 2 * VECTOR_BYTES, ORDER);
    c3.intoMemorySegment(c, cAt + 3 * VECTOR_BYTES, ORDER);
  }

  private static void one(
      int k,
      MemorySegment a,
      long aAt,
      long aStride,
      MemorySegment b,
      long bAt,
      long bStride,
      MemorySegment c,
      long cAt,
      int cols,
      boolean add) {
    VectorMask<Float> mask = S.indexInRange(0, cols);
    FloatVector sum =
        add ? FloatVector.fromMemorySegment(S, c, cAt, ORDER, mask) : FloatVector.zero(S);
    for (long p = 0; p < k; p++) {
      FloatVector x = FloatVector.broadcast(S, a.get(F32, aAt + p * aStride));
      sum = x.fma(FloatVector.fromMemorySegment(S, b, bAt + p * bStride, ORDER, mask), sum);
    }
    sum.intoMemorySegment(c, cAt, ORDER, mask);
  }
}
