package dev.millrace.tensor.math.update;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Moves a block of floats in memory to doubles in an array and back. All loops run along arrays
 * without branches, which the JVM's compiler makes vectors of.
 */
final class SingleBlock {
  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;

  /** The exponent of a float; zero for zero and for numbers too small to be normal. */
  private static final int EXPONENT = 0x7F800000;

  private final float[] values;
  private final int[] bits;

  SingleBlock(int most) {
    values = new float[most];
    bits = new int[most];
  }

  void load(MemorySegment from, long at, double[] to, int n) {
    MemorySegment.copy(from, F32, 4 * at, values, 0, n);
    for (int i = 0; i < n; i++) {
      to[i] = values[i];
    }
  }

  /** Numbers too small to be normal, with which processors are slow, are stored as zero. */
  void store(MemorySegment to, long at, double[] from, int n) {
    for (int i = 0; i < n; i++) {
      values[i] = (float) from[i];
    }
    MemorySegment.copy(values, 0, to, F32, 4 * at, n);
    MemorySegment.copy(to, I32, 4 * at, bits, 0, n);
    for (int i = 0; i < n; i++) {
      // The difference is negative, its sign all ones, unless the exponent is zero.
      bits[i] &= -(bits[i] & EXPONENT) >> 31;
    }
    MemorySegment.copy(bits, 0, to, I32, 4 * at, n);
  }
}
