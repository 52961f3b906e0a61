package dev.millrace.tensor.math.gemm;

import static dev.millrace.tensor.math.AllMemory.ALL;

import dev.millrace.base.ProcessEnvironment;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorSpecies;

/**
 * The tile of floats. The loops are written out because the compiler keeps vectors in registers
 * only if each is a variable of its own, and stores them without a helper method, which it would
 * not inline. Elements of A are spread as ints: the compiler then does it while loading, and not by
 * an instruction that competes with the multiplications.
 */
public final class FloatTile implements GemmTile {
  public static final FloatTile INSTANCE = new FloatTile();

  private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
  private static final ByteOrder ORDER = ByteOrder.LITTLE_ENDIAN;
  private static final VectorSpecies<Integer> I = IntVector.SPECIES_PREFERRED;
  private static final ValueLayout.OfInt ELEMENT = ValueLayout.JAVA_INT_UNALIGNED;
  private static final long BYTES = Float.BYTES;
  private static final long VECTOR_BYTES = S.vectorByteSize();

  /** Whether there are 32 vector registers, as with AVX-512 and on ARM, and not 16. */
  private static final boolean TALL = VECTOR_BYTES >= 64 || !ProcessEnvironment.isX64();

  private FloatTile() {}

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
        FloatVector x = FloatVector.fromMemorySegment(S, ALL, from + j * BYTES, ORDER);
        if (add) {
          x.add(FloatVector.fromMemorySegment(S, ALL, at, ORDER)).intoMemorySegment(ALL, at, ORDER);
        } else {
          x.intoMemorySegment(ALL, at, ORDER);
        }
      }
      if (whole < cols) {
        long at = to + whole * BYTES;
        VectorMask<Float> mask = S.indexInRange(whole, cols);
        FloatVector x = FloatVector.fromMemorySegment(S, ALL, from + whole * BYTES, ORDER, mask);
        if (add) {
          x.add(FloatVector.fromMemorySegment(S, ALL, at, ORDER, mask))
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
    FloatVector c0x = FloatVector.zero(S);
    FloatVector c0y = FloatVector.zero(S);
    FloatVector c1x = FloatVector.zero(S);
    FloatVector c1y = FloatVector.zero(S);
    FloatVector c2x = FloatVector.zero(S);
    FloatVector c2y = FloatVector.zero(S);
    FloatVector c3x = FloatVector.zero(S);
    FloatVector c3y = FloatVector.zero(S);
    FloatVector c4x = FloatVector.zero(S);
    FloatVector c4y = FloatVector.zero(S);
    FloatVector c5x = FloatVector.zero(S);
    FloatVector c5y = FloatVector.zero(S);
    FloatVector c6x = FloatVector.zero(S);
    FloatVector c6y = FloatVector.zero(S);
    FloatVector c7x = FloatVector.zero(S);
    FloatVector c7y = FloatVector.zero(S);
    for (long p = 0; p < k; p++) {
      FloatVector bx = FloatVector.fromMemorySegment(S, b, p * (2 * VECTOR_BYTES), ORDER);
      FloatVector by =
          FloatVector.fromMemorySegment(S, b, p * (2 * VECTOR_BYTES) + VECTOR_BYTES, ORDER);
      FloatVector a0 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (8 * BYTES))).reinterpretAsFloats();
      c0x = a0.fma(bx, c0x);
      c0y = a0.fma(by, c0y);
      FloatVector a1 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (8 * BYTES) + 1 * BYTES)).reinterpretAsFloats();
      c1x = a1.fma(bx, c1x);
      c1y = a1.fma(by, c1y);
      FloatVector a2 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (8 * BYTES) + 2 * BYTES)).reinterpretAsFloats();
      c2x = a2.fma(bx, c2x);
      c2y = a2.fma(by, c2y);
      FloatVector a3 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (8 * BYTES) + 3 * BYTES)).reinterpretAsFloats();
      c3x = a3.fma(bx, c3x);
      c3y = a3.fma(by, c3y);
      FloatVector a4 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (8 * BYTES) + 4 * BYTES)).reinterpretAsFloats();
      c4x = a4.fma(bx, c4x);
      c4y = a4.fma(by, c4y);
      FloatVector a5 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (8 * BYTES) + 5 * BYTES)).reinterpretAsFloats();
      c5x = a5.fma(bx, c5x);
      c5y = a5.fma(by, c5y);
      FloatVector a6 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (8 * BYTES) + 6 * BYTES)).reinterpretAsFloats();
      c6x = a6.fma(bx, c6x);
      c6y = a6.fma(by, c6y);
      FloatVector a7 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (8 * BYTES) + 7 * BYTES)).reinterpretAsFloats();
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
    FloatVector c0x = FloatVector.zero(S);
    FloatVector c0y = FloatVector.zero(S);
    FloatVector c1x = FloatVector.zero(S);
    FloatVector c1y = FloatVector.zero(S);
    FloatVector c2x = FloatVector.zero(S);
    FloatVector c2y = FloatVector.zero(S);
    FloatVector c3x = FloatVector.zero(S);
    FloatVector c3y = FloatVector.zero(S);
    FloatVector c4x = FloatVector.zero(S);
    FloatVector c4y = FloatVector.zero(S);
    FloatVector c5x = FloatVector.zero(S);
    FloatVector c5y = FloatVector.zero(S);
    for (long p = 0; p < k; p++) {
      FloatVector bx = FloatVector.fromMemorySegment(S, b, p * (2 * VECTOR_BYTES), ORDER);
      FloatVector by =
          FloatVector.fromMemorySegment(S, b, p * (2 * VECTOR_BYTES) + VECTOR_BYTES, ORDER);
      FloatVector a0 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (6 * BYTES))).reinterpretAsFloats();
      c0x = a0.fma(bx, c0x);
      c0y = a0.fma(by, c0y);
      FloatVector a1 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (6 * BYTES) + 1 * BYTES)).reinterpretAsFloats();
      c1x = a1.fma(bx, c1x);
      c1y = a1.fma(by, c1y);
      FloatVector a2 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (6 * BYTES) + 2 * BYTES)).reinterpretAsFloats();
      c2x = a2.fma(bx, c2x);
      c2y = a2.fma(by, c2y);
      FloatVector a3 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (6 * BYTES) + 3 * BYTES)).reinterpretAsFloats();
      c3x = a3.fma(bx, c3x);
      c3y = a3.fma(by, c3y);
      FloatVector a4 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (6 * BYTES) + 4 * BYTES)).reinterpretAsFloats();
      c4x = a4.fma(bx, c4x);
      c4y = a4.fma(by, c4y);
      FloatVector a5 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (6 * BYTES) + 5 * BYTES)).reinterpretAsFloats();
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
    FloatVector c0 = FloatVector.zero(S);
    FloatVector c1 = FloatVector.zero(S);
    FloatVector c2 = FloatVector.zero(S);
    FloatVector c3 = FloatVector.zero(S);
    FloatVector c4 = FloatVector.zero(S);
    FloatVector c5 = FloatVector.zero(S);
    FloatVector c6 = FloatVector.zero(S);
    FloatVector c7 = FloatVector.zero(S);
    for (long p = 0; p < k; p++) {
      FloatVector bx = FloatVector.fromMemorySegment(S, b, p * VECTOR_BYTES, ORDER);
      FloatVector a0 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (8 * BYTES))).reinterpretAsFloats();
      c0 = a0.fma(bx, c0);
      FloatVector a1 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (8 * BYTES) + 1 * BYTES)).reinterpretAsFloats();
      c1 = a1.fma(bx, c1);
      FloatVector a2 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (8 * BYTES) + 2 * BYTES)).reinterpretAsFloats();
      c2 = a2.fma(bx, c2);
      FloatVector a3 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (8 * BYTES) + 3 * BYTES)).reinterpretAsFloats();
      c3 = a3.fma(bx, c3);
      FloatVector a4 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (8 * BYTES) + 4 * BYTES)).reinterpretAsFloats();
      c4 = a4.fma(bx, c4);
      FloatVector a5 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (8 * BYTES) + 5 * BYTES)).reinterpretAsFloats();
      c5 = a5.fma(bx, c5);
      FloatVector a6 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (8 * BYTES) + 6 * BYTES)).reinterpretAsFloats();
      c6 = a6.fma(bx, c6);
      FloatVector a7 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (8 * BYTES) + 7 * BYTES)).reinterpretAsFloats();
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
    FloatVector c0 = FloatVector.zero(S);
    FloatVector c1 = FloatVector.zero(S);
    FloatVector c2 = FloatVector.zero(S);
    FloatVector c3 = FloatVector.zero(S);
    FloatVector c4 = FloatVector.zero(S);
    FloatVector c5 = FloatVector.zero(S);
    for (long p = 0; p < k; p++) {
      FloatVector bx = FloatVector.fromMemorySegment(S, b, p * VECTOR_BYTES, ORDER);
      FloatVector a0 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (6 * BYTES))).reinterpretAsFloats();
      c0 = a0.fma(bx, c0);
      FloatVector a1 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (6 * BYTES) + 1 * BYTES)).reinterpretAsFloats();
      c1 = a1.fma(bx, c1);
      FloatVector a2 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (6 * BYTES) + 2 * BYTES)).reinterpretAsFloats();
      c2 = a2.fma(bx, c2);
      FloatVector a3 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (6 * BYTES) + 3 * BYTES)).reinterpretAsFloats();
      c3 = a3.fma(bx, c3);
      FloatVector a4 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (6 * BYTES) + 4 * BYTES)).reinterpretAsFloats();
      c4 = a4.fma(bx, c4);
      FloatVector a5 =
          IntVector.broadcast(I, a.get(ELEMENT, p * (6 * BYTES) + 5 * BYTES)).reinterpretAsFloats();
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
