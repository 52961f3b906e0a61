package dev.millrace.tensor.math.gemm;

import static dev.millrace.tensor.math.AllMemory.ALL;

import dev.millrace.base.ProcessEnvironment;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorSpecies;

/**
 * The tile of doubles. The loops are written out because the compiler keeps vectors in registers
 * only if each is a variable of its own, and stores them without a helper method, which it would
 * not inline.
 */
final class DoubleTile implements GemmTile {
  static final DoubleTile INSTANCE = new DoubleTile();

  private static final VectorSpecies<Double> S = DoubleVector.SPECIES_PREFERRED;
  private static final ByteOrder ORDER = ByteOrder.LITTLE_ENDIAN;
  private static final ValueLayout.OfDouble ELEMENT = ValueLayout.JAVA_DOUBLE_UNALIGNED;
  private static final long BYTES = Double.BYTES;
  private static final long VECTOR_BYTES = S.vectorByteSize();

  /** Whether there are 32 vector registers, as with AVX-512 and on ARM, and not 16. */
  private static final boolean TALL = VECTOR_BYTES >= 64 || !ProcessEnvironment.isX64();

  private DoubleTile() {}

  @Override
  public int rows() {
    return TALL ? 8 : 6;
  }

  @Override
  public int lanes() {
    return S.length();
  }

  @Override
  public int elementBytes() {
    return (int) BYTES;
  }

  @Override
  public void multiply(int k, long a, long b, long c, long cStride, boolean wide) {
    if (wide) {
      if (TALL) {
        wide8(k, a, b, c, cStride);
      } else {
        wide6(k, a, b, c, cStride);
      }
    } else if (TALL) {
      narrow8(k, a, b, c, cStride);
    } else {
      narrow6(k, a, b, c, cStride);
    }
  }

  @Override
  public void store(
      long tile, long tileStride, long c, long cStride, int rows, int cols, boolean add) {
    int whole = S.loopBound(cols);
    for (int i = 0; i < rows; i++) {
      long from = tile + i * tileStride;
      long to = c + i * cStride;
      for (int j = 0; j < whole; j += S.length()) {
        long at = to + j * BYTES;
        DoubleVector x = DoubleVector.fromMemorySegment(S, ALL, from + j * BYTES, ORDER);
        if (add) {
          x.add(DoubleVector.fromMemorySegment(S, ALL, at, ORDER))
              .intoMemorySegment(ALL, at, ORDER);
        } else {
          x.intoMemorySegment(ALL, at, ORDER);
        }
      }
      if (whole < cols) {
        long at = to + whole * BYTES;
        VectorMask<Double> mask = S.indexInRange(whole, cols);
        DoubleVector x = DoubleVector.fromMemorySegment(S, ALL, from + whole * BYTES, ORDER, mask);
        if (add) {
          x.add(DoubleVector.fromMemorySegment(S, ALL, at, ORDER, mask))
              .intoMemorySegment(ALL, at, ORDER, mask);
        } else {
          x.intoMemorySegment(ALL, at, ORDER, mask);
        }
      }
    }
  }

  private static void wide8(int k, long aAt, long bAt, long cAt, long cStride) {
    MemorySegment a = ALL.asSlice(aAt, k * (8 * BYTES));
    MemorySegment b = ALL.asSlice(bAt, k * (2 * VECTOR_BYTES));
    MemorySegment c = ALL.asSlice(cAt, 7 * cStride + 2 * VECTOR_BYTES);
    DoubleVector c0x = DoubleVector.zero(S);
    DoubleVector c0y = DoubleVector.zero(S);
    DoubleVector c1x = DoubleVector.zero(S);
    DoubleVector c1y = DoubleVector.zero(S);
    DoubleVector c2x = DoubleVector.zero(S);
    DoubleVector c2y = DoubleVector.zero(S);
    DoubleVector c3x = DoubleVector.zero(S);
    DoubleVector c3y = DoubleVector.zero(S);
    DoubleVector c4x = DoubleVector.zero(S);
    DoubleVector c4y = DoubleVector.zero(S);
    DoubleVector c5x = DoubleVector.zero(S);
    DoubleVector c5y = DoubleVector.zero(S);
    DoubleVector c6x = DoubleVector.zero(S);
    DoubleVector c6y = DoubleVector.zero(S);
    DoubleVector c7x = DoubleVector.zero(S);
    DoubleVector c7y = DoubleVector.zero(S);
    for (long p = 0; p < k; p++) {
      DoubleVector bx = DoubleVector.fromMemorySegment(S, b, p * (2 * VECTOR_BYTES), ORDER);
      DoubleVector by =
          DoubleVector.fromMemorySegment(S, b, p * (2 * VECTOR_BYTES) + VECTOR_BYTES, ORDER);
      DoubleVector a0 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (8 * BYTES)));
      c0x = a0.fma(bx, c0x);
      c0y = a0.fma(by, c0y);
      DoubleVector a1 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (8 * BYTES) + 1 * BYTES));
      c1x = a1.fma(bx, c1x);
      c1y = a1.fma(by, c1y);
      DoubleVector a2 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (8 * BYTES) + 2 * BYTES));
      c2x = a2.fma(bx, c2x);
      c2y = a2.fma(by, c2y);
      DoubleVector a3 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (8 * BYTES) + 3 * BYTES));
      c3x = a3.fma(bx, c3x);
      c3y = a3.fma(by, c3y);
      DoubleVector a4 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (8 * BYTES) + 4 * BYTES));
      c4x = a4.fma(bx, c4x);
      c4y = a4.fma(by, c4y);
      DoubleVector a5 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (8 * BYTES) + 5 * BYTES));
      c5x = a5.fma(bx, c5x);
      c5y = a5.fma(by, c5y);
      DoubleVector a6 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (8 * BYTES) + 6 * BYTES));
      c6x = a6.fma(bx, c6x);
      c6y = a6.fma(by, c6y);
      DoubleVector a7 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (8 * BYTES) + 7 * BYTES));
      c7x = a7.fma(bx, c7x);
      c7y = a7.fma(by, c7y);
    }
    c0x.intoMemorySegment(c, 0, ORDER);
    c0y.intoMemorySegment(c, VECTOR_BYTES, ORDER);
    c1x.intoMemorySegment(c, cStride, ORDER);
    c1y.intoMemorySegment(c, cStride + VECTOR_BYTES, ORDER);
    c2x.intoMemorySegment(c, 2 * cStride, ORDER);
    c2y.intoMemorySegment(c, 2 * cStride + VECTOR_BYTES, ORDER);
    c3x.intoMemorySegment(c, 3 * cStride, ORDER);
    c3y.intoMemorySegment(c, 3 * cStride + VECTOR_BYTES, ORDER);
    c4x.intoMemorySegment(c, 4 * cStride, ORDER);
    c4y.intoMemorySegment(c, 4 * cStride + VECTOR_BYTES, ORDER);
    c5x.intoMemorySegment(c, 5 * cStride, ORDER);
    c5y.intoMemorySegment(c, 5 * cStride + VECTOR_BYTES, ORDER);
    c6x.intoMemorySegment(c, 6 * cStride, ORDER);
    c6y.intoMemorySegment(c, 6 * cStride + VECTOR_BYTES, ORDER);
    c7x.intoMemorySegment(c, 7 * cStride, ORDER);
    c7y.intoMemorySegment(c, 7 * cStride + VECTOR_BYTES, ORDER);
  }

  private static void wide6(int k, long aAt, long bAt, long cAt, long cStride) {
    MemorySegment a = ALL.asSlice(aAt, k * (6 * BYTES));
    MemorySegment b = ALL.asSlice(bAt, k * (2 * VECTOR_BYTES));
    MemorySegment c = ALL.asSlice(cAt, 5 * cStride + 2 * VECTOR_BYTES);
    DoubleVector c0x = DoubleVector.zero(S);
    DoubleVector c0y = DoubleVector.zero(S);
    DoubleVector c1x = DoubleVector.zero(S);
    DoubleVector c1y = DoubleVector.zero(S);
    DoubleVector c2x = DoubleVector.zero(S);
    DoubleVector c2y = DoubleVector.zero(S);
    DoubleVector c3x = DoubleVector.zero(S);
    DoubleVector c3y = DoubleVector.zero(S);
    DoubleVector c4x = DoubleVector.zero(S);
    DoubleVector c4y = DoubleVector.zero(S);
    DoubleVector c5x = DoubleVector.zero(S);
    DoubleVector c5y = DoubleVector.zero(S);
    for (long p = 0; p < k; p++) {
      DoubleVector bx = DoubleVector.fromMemorySegment(S, b, p * (2 * VECTOR_BYTES), ORDER);
      DoubleVector by =
          DoubleVector.fromMemorySegment(S, b, p * (2 * VECTOR_BYTES) + VECTOR_BYTES, ORDER);
      DoubleVector a0 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (6 * BYTES)));
      c0x = a0.fma(bx, c0x);
      c0y = a0.fma(by, c0y);
      DoubleVector a1 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (6 * BYTES) + 1 * BYTES));
      c1x = a1.fma(bx, c1x);
      c1y = a1.fma(by, c1y);
      DoubleVector a2 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (6 * BYTES) + 2 * BYTES));
      c2x = a2.fma(bx, c2x);
      c2y = a2.fma(by, c2y);
      DoubleVector a3 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (6 * BYTES) + 3 * BYTES));
      c3x = a3.fma(bx, c3x);
      c3y = a3.fma(by, c3y);
      DoubleVector a4 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (6 * BYTES) + 4 * BYTES));
      c4x = a4.fma(bx, c4x);
      c4y = a4.fma(by, c4y);
      DoubleVector a5 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (6 * BYTES) + 5 * BYTES));
      c5x = a5.fma(bx, c5x);
      c5y = a5.fma(by, c5y);
    }
    c0x.intoMemorySegment(c, 0, ORDER);
    c0y.intoMemorySegment(c, VECTOR_BYTES, ORDER);
    c1x.intoMemorySegment(c, cStride, ORDER);
    c1y.intoMemorySegment(c, cStride + VECTOR_BYTES, ORDER);
    c2x.intoMemorySegment(c, 2 * cStride, ORDER);
    c2y.intoMemorySegment(c, 2 * cStride + VECTOR_BYTES, ORDER);
    c3x.intoMemorySegment(c, 3 * cStride, ORDER);
    c3y.intoMemorySegment(c, 3 * cStride + VECTOR_BYTES, ORDER);
    c4x.intoMemorySegment(c, 4 * cStride, ORDER);
    c4y.intoMemorySegment(c, 4 * cStride + VECTOR_BYTES, ORDER);
    c5x.intoMemorySegment(c, 5 * cStride, ORDER);
    c5y.intoMemorySegment(c, 5 * cStride + VECTOR_BYTES, ORDER);
  }

  private static void narrow8(int k, long aAt, long bAt, long cAt, long cStride) {
    MemorySegment a = ALL.asSlice(aAt, k * (8 * BYTES));
    MemorySegment b = ALL.asSlice(bAt, k * (1 * VECTOR_BYTES));
    MemorySegment c = ALL.asSlice(cAt, 7 * cStride + 1 * VECTOR_BYTES);
    DoubleVector c0 = DoubleVector.zero(S);
    DoubleVector c1 = DoubleVector.zero(S);
    DoubleVector c2 = DoubleVector.zero(S);
    DoubleVector c3 = DoubleVector.zero(S);
    DoubleVector c4 = DoubleVector.zero(S);
    DoubleVector c5 = DoubleVector.zero(S);
    DoubleVector c6 = DoubleVector.zero(S);
    DoubleVector c7 = DoubleVector.zero(S);
    for (long p = 0; p < k; p++) {
      DoubleVector bx = DoubleVector.fromMemorySegment(S, b, p * VECTOR_BYTES, ORDER);
      DoubleVector a0 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (8 * BYTES)));
      c0 = a0.fma(bx, c0);
      DoubleVector a1 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (8 * BYTES) + 1 * BYTES));
      c1 = a1.fma(bx, c1);
      DoubleVector a2 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (8 * BYTES) + 2 * BYTES));
      c2 = a2.fma(bx, c2);
      DoubleVector a3 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (8 * BYTES) + 3 * BYTES));
      c3 = a3.fma(bx, c3);
      DoubleVector a4 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (8 * BYTES) + 4 * BYTES));
      c4 = a4.fma(bx, c4);
      DoubleVector a5 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (8 * BYTES) + 5 * BYTES));
      c5 = a5.fma(bx, c5);
      DoubleVector a6 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (8 * BYTES) + 6 * BYTES));
      c6 = a6.fma(bx, c6);
      DoubleVector a7 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (8 * BYTES) + 7 * BYTES));
      c7 = a7.fma(bx, c7);
    }
    c0.intoMemorySegment(c, 0, ORDER);
    c1.intoMemorySegment(c, cStride, ORDER);
    c2.intoMemorySegment(c, 2 * cStride, ORDER);
    c3.intoMemorySegment(c, 3 * cStride, ORDER);
    c4.intoMemorySegment(c, 4 * cStride, ORDER);
    c5.intoMemorySegment(c, 5 * cStride, ORDER);
    c6.intoMemorySegment(c, 6 * cStride, ORDER);
    c7.intoMemorySegment(c, 7 * cStride, ORDER);
  }

  private static void narrow6(int k, long aAt, long bAt, long cAt, long cStride) {
    MemorySegment a = ALL.asSlice(aAt, k * (6 * BYTES));
    MemorySegment b = ALL.asSlice(bAt, k * (1 * VECTOR_BYTES));
    MemorySegment c = ALL.asSlice(cAt, 5 * cStride + 1 * VECTOR_BYTES);
    DoubleVector c0 = DoubleVector.zero(S);
    DoubleVector c1 = DoubleVector.zero(S);
    DoubleVector c2 = DoubleVector.zero(S);
    DoubleVector c3 = DoubleVector.zero(S);
    DoubleVector c4 = DoubleVector.zero(S);
    DoubleVector c5 = DoubleVector.zero(S);
    for (long p = 0; p < k; p++) {
      DoubleVector bx = DoubleVector.fromMemorySegment(S, b, p * VECTOR_BYTES, ORDER);
      DoubleVector a0 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (6 * BYTES)));
      c0 = a0.fma(bx, c0);
      DoubleVector a1 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (6 * BYTES) + 1 * BYTES));
      c1 = a1.fma(bx, c1);
      DoubleVector a2 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (6 * BYTES) + 2 * BYTES));
      c2 = a2.fma(bx, c2);
      DoubleVector a3 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (6 * BYTES) + 3 * BYTES));
      c3 = a3.fma(bx, c3);
      DoubleVector a4 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (6 * BYTES) + 4 * BYTES));
      c4 = a4.fma(bx, c4);
      DoubleVector a5 = DoubleVector.broadcast(S, a.get(ELEMENT, p * (6 * BYTES) + 5 * BYTES));
      c5 = a5.fma(bx, c5);
    }
    c0.intoMemorySegment(c, 0, ORDER);
    c1.intoMemorySegment(c, cStride, ORDER);
    c2.intoMemorySegment(c, 2 * cStride, ORDER);
    c3.intoMemorySegment(c, 3 * cStride, ORDER);
    c4.intoMemorySegment(c, 4 * cStride, ORDER);
    c5.intoMemorySegment(c, 5 * cStride, ORDER);
  }
}
