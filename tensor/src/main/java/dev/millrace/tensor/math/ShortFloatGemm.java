package dev.millrace.tensor.math;

import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Matrix products of 16-bit floats: widened, multiplied as floats, rounded once at the end. */
final class ShortFloatGemm {
  private static final ValueLayout.OfShort I16 = ValueLayout.JAVA_SHORT_UNALIGNED;
  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final long GRAIN_ROWS = 8;

  private ShortFloatGemm() {}

  static void multiply(
      Gemm g, MemorySegment a, MemorySegment b, MemorySegment c, boolean accumulate) {
    int aRows = g.transA() ? g.k() : g.m();
    int aCols = g.transA() ? g.m() : g.k();
    int bRows = g.transB() ? g.n() : g.k();
    int bCols = g.transB() ? g.k() : g.n();
    Buffer wideA = BufferPool.shared().allocate(4L * aRows * aCols);
    Buffer wideB = BufferPool.shared().allocate(4L * bRows * bCols);
    Buffer wideC = BufferPool.shared().allocate(4L * g.m() * g.n());
    try {
      widen(g.type(), a, g.lda(), aRows, aCols, wideA.memory());
      widen(g.type(), b, g.ldb(), bRows, bCols, wideB.memory());
      if (accumulate) {
        widen(g.type(), c, g.ldc(), g.m(), g.n(), wideC.memory());
      }
      Gemm.of(DType.FLOAT, g.transA(), g.transB(), g.m(), g.n(), g.k())
          .multiply(wideA.memory(), wideB.memory(), wideC.memory(), accumulate);
      narrow(g.type(), wideC.memory(), g.m(), g.n(), c, g.ldc());
    } finally {
      wideA.release();
      wideB.release();
      wideC.release();
    }
  }

  private static void widen(
      DType type, MemorySegment from, long stride, int rows, int cols, MemorySegment to) {
    Parallel.run(
        rows,
        GRAIN_ROWS,
        (first, last) -> {
          for (long i = first; i < last; i++) {
            for (int j = 0; j < cols; j++) {
              short bits = from.getAtIndex(I16, i * stride + j);
              float v =
                  type == DType.HALF ? Float.float16ToFloat(bits) : Tensor.bfloat16ToFloat(bits);
              to.setAtIndex(F32, i * cols + j, v);
            }
          }
        });
  }

  private static void narrow(
      DType type, MemorySegment from, int rows, int cols, MemorySegment to, long stride) {
    Parallel.run(
        rows,
        GRAIN_ROWS,
        (first, last) -> {
          for (long i = first; i < last; i++) {
            for (int j = 0; j < cols; j++) {
              float v = from.getAtIndex(F32, i * cols + j);
              short bits = type == DType.HALF ? Float.floatToFloat16(v) : Tensor.floatToBfloat16(v);
              to.setAtIndex(I16, i * stride + j, bits);
            }
          }
        });
  }
}
