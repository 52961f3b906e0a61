package dev.millrace.tensor.math.gemm;

import dev.millrace.tensor.DType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Matrix products of integers, by plain loops. */
final class IntegerGemm {
  private static final ValueLayout.OfShort I16 = ValueLayout.JAVA_SHORT_UNALIGNED;
  private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;
  private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;

  private IntegerGemm() {}

  /** Computes rows {@code i0} to {@code i1} of C. */
  static void rows(
      Gemm g,
      MemorySegment a,
      MemorySegment b,
      MemorySegment c,
      boolean accumulate,
      int i0,
      int i1) {
    long aRow = g.transA() ? 1 : g.lda();
    long aCol = g.transA() ? g.lda() : 1;
    long bRow = g.transB() ? 1 : g.ldb();
    long bCol = g.transB() ? g.ldb() : 1;
    for (int i = i0; i < i1; i++) {
      for (int j = 0; j < g.n(); j++) {
        long sum = 0;
        long at = (long) i * g.ldc() + j;
        if (g.type() == DType.INT32) {
          for (int p = 0; p < g.k(); p++) {
            sum +=
                (long) a.getAtIndex(I32, i * aRow + p * aCol)
                    * b.getAtIndex(I32, p * bRow + j * bCol);
          }
          c.setAtIndex(I32, at, (int) sum + (accumulate ? c.getAtIndex(I32, at) : 0));
        } else if (g.type() == DType.INT16) {
          for (int p = 0; p < g.k(); p++) {
            sum +=
                (long) a.getAtIndex(I16, i * aRow + p * aCol)
                    * b.getAtIndex(I16, p * bRow + j * bCol);
          }
          c.setAtIndex(I16, at, (short) (sum + (accumulate ? c.getAtIndex(I16, at) : 0)));
        } else {
          for (int p = 0; p < g.k(); p++) {
            sum += a.getAtIndex(I64, i * aRow + p * aCol) * b.getAtIndex(I64, p * bRow + j * bCol);
          }
          c.setAtIndex(I64, at, sum + (accumulate ? c.getAtIndex(I64, at) : 0));
        }
      }
    }
  }
}
