package dev.millrace.tensor.math.gemm;

import dev.millrace.tensor.DType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Matrix products of floats and doubles by plain loops, for a JVM without the Vector API. A row of
 * C is a sum of rows of B, each times an element of A; the inner loop runs along arrays, which the
 * JVM's compiler makes vectors of. Rows of B are copied into an array some at a time, so that they
 * stay in the cache while all rows of C pass. Of floats, rows whose factor is zero are left out,
 * unless they hold NaN or infinity, of which zero times is NaN.
 */
final class PlainGemm {
  /** Rows of B that are copied at a time. */
  private static final int DEPTH = 64;

  /** Columns of B that are taken at a time. */
  private static final int WIDTH = 512;

  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final ValueLayout.OfDouble F64 = ValueLayout.JAVA_DOUBLE_UNALIGNED;

  private PlainGemm() {}

  /** Computes rows {@code i0} to {@code i1} and columns {@code j0} to {@code j1} of C. */
  static void multiply(
      Gemm g,
      MemorySegment a,
      MemorySegment b,
      MemorySegment c,
      boolean accumulate,
      int i0,
      int i1,
      int j0,
      int j1) {
    int bytes = g.type().bytes();
    if (!accumulate) {
      for (int i = i0; i < i1; i++) {
        c.asSlice(((long) i * g.ldc() + j0) * bytes, (long) (j1 - j0) * bytes).fill((byte) 0);
      }
    }
    for (int j = j0; j < j1; j += WIDTH) {
      int end = Math.min(j1, j + WIDTH);
      if (g.type() == DType.FLOAT) {
        floats(g, a, b, c, i0, i1, j, end);
      } else {
        doubles(g, a, b, c, i0, i1, j, end);
      }
    }
  }

  private static void floats(
      Gemm g, MemorySegment a, MemorySegment b, MemorySegment c, int i0, int i1, int j0, int j1) {
    int n = j1 - j0;
    float[] sum = new float[n];
    float[] rows = new float[DEPTH * n];
    int[] at = new int[DEPTH];
    float[] factors = new float[DEPTH];
    long aRow = g.transA() ? 1 : g.lda();
    long aColumn = g.transA() ? g.lda() : 1;
    for (int p0 = 0; p0 < g.k(); p0 += DEPTH) {
      int depth = Math.min(DEPTH, g.k() - p0);
      if (g.transB()) {
        for (int j = 0; j < n; j++) {
          long from = (long) (j0 + j) * g.ldb() + p0;
          for (int p = 0; p < depth; p++) {
            rows[p * n + j] = b.getAtIndex(F32, from + p);
          }
        }
      } else {
        for (int p = 0; p < depth; p++) {
          long from = (long) (p0 + p) * g.ldb() + j0;
          MemorySegment.copy(b, F32, 4 * from, rows, p * n, n);
        }
      }
      boolean skip = isFinite(rows, depth * n);
      for (int i = i0; i < i1; i++) {
        int terms = 0;
        for (int p = 0; p < depth; p++) {
          float x = a.getAtIndex(F32, i * aRow + (p0 + p) * aColumn);
          at[terms] = p * n;
          factors[terms] = x;
          if (x != 0 || !skip) {
            terms++;
          }
        }
        if (terms == 0) {
          continue;
        }
        long cAt = 4 * ((long) i * g.ldc() + j0);
        MemorySegment.copy(c, F32, cAt, sum, 0, n);
        int t = 0;
        for (; t <= terms - 4; t += 4) {
          add4(sum, n, rows, at, factors, t);
        }
        for (; t < terms; t++) {
          add(sum, n, rows, at[t], factors[t]);
        }
        MemorySegment.copy(sum, 0, c, F32, cAt, n);
      }
    }
  }

  /** Whether the first {@code n} floats are neither NaN nor infinite. */
  private static boolean isFinite(float[] values, int n) {
    int most = 0;
    for (int i = 0; i < n; i++) {
      most = Math.max(most, Float.floatToRawIntBits(values[i]) & Integer.MAX_VALUE);
    }
    return most < Float.floatToRawIntBits(Float.POSITIVE_INFINITY);
  }

  /** Adds the rows of four terms, each times its factor. */
  private static void add4(float[] sum, int n, float[] rows, int[] at, float[] factors, int t) {
    int at0 = at[t];
    int at1 = at[t + 1];
    int at2 = at[t + 2];
    int at3 = at[t + 3];
    float a = factors[t];
    float b = factors[t + 1];
    float c = factors[t + 2];
    float d = factors[t + 3];
    for (int j = 0; j < n; j++) {
      sum[j] += a * rows[at0 + j] + b * rows[at1 + j] + (c * rows[at2 + j] + d * rows[at3 + j]);
    }
  }

  private static void add(float[] sum, int n, float[] rows, int at, float a) {
    for (int j = 0; j < n; j++) {
      sum[j] += a * rows[at + j];
    }
  }

  private static void doubles(
      Gemm g, MemorySegment a, MemorySegment b, MemorySegment c, int i0, int i1, int j0, int j1) {
    int n = j1 - j0;
    double[] sum = new double[n];
    double[] rows = new double[DEPTH * n];
    long aRow = g.transA() ? 1 : g.lda();
    long aColumn = g.transA() ? g.lda() : 1;
    for (int p0 = 0; p0 < g.k(); p0 += DEPTH) {
      int depth = Math.min(DEPTH, g.k() - p0);
      if (g.transB()) {
        for (int j = 0; j < n; j++) {
          long at = (long) (j0 + j) * g.ldb() + p0;
          for (int p = 0; p < depth; p++) {
            rows[p * n + j] = b.getAtIndex(F64, at + p);
          }
        }
      } else {
        for (int p = 0; p < depth; p++) {
          long at = (long) (p0 + p) * g.ldb() + j0;
          MemorySegment.copy(b, F64, 8 * at, rows, p * n, n);
        }
      }
      for (int i = i0; i < i1; i++) {
        long cAt = 8 * ((long) i * g.ldc() + j0);
        MemorySegment.copy(c, F64, cAt, sum, 0, n);
        int p = 0;
        for (; p <= depth - 4; p += 4) {
          long at = i * aRow + (p0 + p) * aColumn;
          add4(
              sum,
              n,
              rows,
              p * n,
              a.getAtIndex(F64, at),
              a.getAtIndex(F64, at + aColumn),
              a.getAtIndex(F64, at + 2 * aColumn),
              a.getAtIndex(F64, at + 3 * aColumn));
        }
        for (; p < depth; p++) {
          add(sum, n, rows, p * n, a.getAtIndex(F64, i * aRow + (p0 + p) * aColumn));
        }
        MemorySegment.copy(sum, 0, c, F64, cAt, n);
      }
    }
  }

  /** Adds four neighbouring rows, each times a factor. */
  private static void add4(
      double[] sum, int n, double[] rows, int at, double a, double b, double c, double d) {
    for (int j = 0; j < n; j++) {
      sum[j] +=
          a * rows[at + j]
              + b * rows[at + n + j]
              + (c * rows[at + 2 * n + j] + d * rows[at + 3 * n + j]);
    }
  }

  private static void add(double[] sum, int n, double[] rows, int at, double a) {
    for (int j = 0; j < n; j++) {
      sum[j] += a * rows[at + j];
    }
  }
}
