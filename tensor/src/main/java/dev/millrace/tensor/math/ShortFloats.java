package dev.millrace.tensor.math;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Turns arrays of half or bfloat16 into floats and back, rounding to nearest. */
public final class ShortFloats {
  private static final ValueLayout.OfShort I16 = ValueLayout.JAVA_SHORT_UNALIGNED;
  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final long GRAIN = 1 << 14;

  private ShortFloats() {}

  public static void widen(DType type, MemorySegment from, MemorySegment to, long n) {
    if (type == DType.HALF) {
      Parallel.run(
          n,
          GRAIN,
          (first, last) -> {
            for (long i = first; i < last; i++) {
              to.setAtIndex(F32, i, Float.float16ToFloat(from.getAtIndex(I16, i)));
            }
          });
    } else {
      Parallel.run(
          n,
          GRAIN,
          (first, last) -> {
            for (long i = first; i < last; i++) {
              to.setAtIndex(F32, i, Tensor.bfloat16ToFloat(from.getAtIndex(I16, i)));
            }
          });
    }
  }

  public static void narrow(DType type, MemorySegment from, MemorySegment to, long n) {
    if (type == DType.HALF) {
      Parallel.run(
          n,
          GRAIN,
          (first, last) -> {
            for (long i = first; i < last; i++) {
              to.setAtIndex(I16, i, Float.floatToFloat16(from.getAtIndex(F32, i)));
            }
          });
    } else {
      Parallel.run(
          n,
          GRAIN,
          (first, last) -> {
            for (long i = first; i < last; i++) {
              to.setAtIndex(I16, i, Tensor.floatToBfloat16(from.getAtIndex(F32, i)));
            }
          });
    }
  }
}
