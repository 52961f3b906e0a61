package dev.millrace.tensor.math.gemm;

import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.math.ShortFloats;
import java.lang.foreign.MemorySegment;

/** Matrix products of 16-bit floats: widened, multiplied as floats, rounded once at the end. */
final class ShortFloatGemm {
  private ShortFloatGemm() {}

  static void multiply(
      Gemm g, MemorySegment a, MemorySegment b, MemorySegment c, boolean accumulate) {
    // Gaps between rows are widened too; only those of C must not be written back.
    long aElements =
        (long) (g.transA() ? g.k() - 1 : g.m() - 1) * g.lda() + (g.transA() ? g.m() : g.k());
    long bElements =
        (long) (g.transB() ? g.n() - 1 : g.k() - 1) * g.ldb() + (g.transB() ? g.k() : g.n());
    long cElements = (long) (g.m() - 1) * g.ldc() + g.n();
    Buffer wideA = BufferPool.current().allocate(4 * aElements);
    Buffer wideB = BufferPool.current().allocate(4 * bElements);
    Buffer wideC = BufferPool.current().allocate(4 * cElements);
    try {
      ShortFloats.widen(g.type(), a, wideA.memory(), aElements);
      ShortFloats.widen(g.type(), b, wideB.memory(), bElements);
      if (accumulate) {
        ShortFloats.widen(g.type(), c, wideC.memory(), cElements);
      }
      new Gemm(DType.FLOAT, g.transA(), g.transB(), g.m(), g.n(), g.k(), g.lda(), g.ldb(), g.ldc())
          .multiply(wideA.memory(), wideB.memory(), wideC.memory(), accumulate);
      if (g.ldc() == g.n()) {
        ShortFloats.narrow(g.type(), wideC.memory(), c, cElements);
      } else {
        for (int i = 0; i < g.m(); i++) {
          long at = (long) i * g.ldc();
          ShortFloats.narrow(g.type(), wideC.memory().asSlice(4 * at), c.asSlice(2 * at), g.n());
        }
      }
    } finally {
      wideA.release();
      wideB.release();
      wideC.release();
    }
  }
}
