package dev.millrace.tensor.math.gemm;

import static dev.millrace.tensor.math.AllMemory.ALL;

import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Products of floats with few columns (or few rows) whose two matrices are both read along the
 * inner dimension: each element of C is the dot product of a row of A and a row of the transposed
 * B. A is not packed, so a product of a matrix and a vector reads the matrix once. Four rows and
 * two columns are computed at a time.
 */
final class DotGemm {
  private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
  private static final ByteOrder ORDER = ByteOrder.LITTLE_ENDIAN;
  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;

  /** Columns from and up to which this beats tiles, which compute a whole vector of them. */
  private static final int MIN_COLUMNS = 2;

  private static final int MAX_COLUMNS = 10;

  /** From here on the sums across lanes do not count any more, nor the transposing of B. */
  private static final int MIN_DEPTH = 256;

  private static final int MIN_ROWS = 32;

  private DotGemm() {}

  /** Whether this is the way to compute {@code rows} by {@code cols} elements of a product. */
  static boolean suits(Gemm g, int rows, int cols) {
    return g.type() == DType.FLOAT
        && !g.transA()
        && !g.transB()
        && cols >= MIN_COLUMNS
        && cols <= MAX_COLUMNS
        && g.k() >= MIN_DEPTH
        && rows >= MIN_ROWS;
  }

  /**
   * Computes rows {@code i0} to {@code i1} and columns {@code j0} to {@code j1} of C, of a product
   * whose A is not transposed. B is transposed unless it is already or has one column only.
   */
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
    long aStride = 4L * g.lda();
    long bStride = 4L * g.ldb();
    long cStride = 4L * g.ldc();
    long aAt = a.address() + i0 * aStride;
    long bAt = b.address() + (g.transB() ? j0 * bStride : 4L * j0);
    long cAt = c.address() + i0 * cStride + 4L * j0;
    int rows = i1 - i0;
    int cols = j1 - j0;
    if (g.transB() || g.ldb() == 1) {
      multiply(g.k(), rows, cols, aAt, aStride, bAt, bStride, cAt, cStride, accumulate);
      return;
    }
    long stride = (g.k() + 15L) / 16 * 64;
    Buffer scratch = BufferPool.current().allocate(stride * cols);
    long turned = scratch.memory().address();
    try {
      Panel.transpose(bAt, bStride, g.k(), cols, turned, stride);
      multiply(g.k(), rows, cols, aAt, aStride, turned, stride, cAt, cStride, accumulate);
    } finally {
      scratch.release();
    }
  }

  /**
   * Computes {@code rows} by {@code cols} elements of C at these addresses. Strides are in bytes;
   * {@code bStride} leads from one column of the product to the next.
   */
  private static void multiply(
      int k,
      int rows,
      int cols,
      long a,
      long aStride,
      long b,
      long bStride,
      long c,
      long cStride,
      boolean add) {
    int whole = S.loopBound(k);
    for (int i = 0; i < rows; i += 4) {
      for (int j = 0; j < cols; j += 2) {
        // What lies beyond the edge is the last row or column once more.
        long a0 = a + i * aStride;
        long a1 = a + Math.min(i + 1, rows - 1) * aStride;
        long a2 = a + Math.min(i + 2, rows - 1) * aStride;
        long a3 = a + Math.min(i + 3, rows - 1) * aStride;
        long b0 = b + j * bStride;
        long b1 = b + Math.min(j + 1, cols - 1) * bStride;
        long at = c + i * cStride + j * 4L;
        tile(whole, a0, a1, a2, a3, b0, b1, at, cStride, rows - i, cols - j, add);
      }
    }
    if (whole < k) {
      long at = whole * 4L;
      rest(k - whole, rows, cols, a + at, aStride, b + at, bStride, c, cStride);
    }
  }

  /** Adds the products of the last elements of each row, fewer than a vector. */
  private static void rest(
      int k, int rows, int cols, long a, long aStride, long b, long bStride, long c, long cStride) {
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < cols; j++) {
        long at = c + i * cStride + j * 4L;
        float sum = ALL.get(F32, at);
        for (long p = 0; p < 4L * k; p += 4) {
          sum += ALL.get(F32, a + i * aStride + p) * ALL.get(F32, b + j * bStride + p);
        }
        ALL.set(F32, at, sum);
      }
    }
  }

  /**
   * Four rows by two columns, {@code k} whole vectors long. Kept this small on purpose: a method
   * with more vector operations than the first compiler has registers for is never compiled by the
   * second.
   */
  private static void tile(
      int k,
      long a0,
      long a1,
      long a2,
      long a3,
      long b0,
      long b1,
      long c,
      long cStride,
      int rows,
      int cols,
      boolean add) {
    FloatVector c00 = FloatVector.zero(S);
    FloatVector c01 = FloatVector.zero(S);
    FloatVector c10 = FloatVector.zero(S);
    FloatVector c11 = FloatVector.zero(S);
    FloatVector c20 = FloatVector.zero(S);
    FloatVector c21 = FloatVector.zero(S);
    FloatVector c30 = FloatVector.zero(S);
    FloatVector c31 = FloatVector.zero(S);
    for (int p = 0; p < k; p += S.length()) {
      long q = p * 4L;
      FloatVector x = FloatVector.fromMemorySegment(S, ALL, b0 + q, ORDER);
      FloatVector y = FloatVector.fromMemorySegment(S, ALL, b1 + q, ORDER);
      FloatVector r = FloatVector.fromMemorySegment(S, ALL, a0 + q, ORDER);
      c00 = r.fma(x, c00);
      c01 = r.fma(y, c01);
      r = FloatVector.fromMemorySegment(S, ALL, a1 + q, ORDER);
      c10 = r.fma(x, c10);
      c11 = r.fma(y, c11);
      r = FloatVector.fromMemorySegment(S, ALL, a2 + q, ORDER);
      c20 = r.fma(x, c20);
      c21 = r.fma(y, c21);
      r = FloatVector.fromMemorySegment(S, ALL, a3 + q, ORDER);
      c30 = r.fma(x, c30);
      c31 = r.fma(y, c31);
    }
    float s00 = c00.reduceLanes(VectorOperators.ADD);
    float s01 = c01.reduceLanes(VectorOperators.ADD);
    float s10 = c10.reduceLanes(VectorOperators.ADD);
    float s11 = c11.reduceLanes(VectorOperators.ADD);
    float s20 = c20.reduceLanes(VectorOperators.ADD);
    float s21 = c21.reduceLanes(VectorOperators.ADD);
    float s30 = c30.reduceLanes(VectorOperators.ADD);
    float s31 = c31.reduceLanes(VectorOperators.ADD);
    pair(c, s00, s01, cols, add);
    if (rows > 1) {
      pair(c + cStride, s10, s11, cols, add);
    }
    if (rows > 2) {
      pair(c + 2 * cStride, s20, s21, cols, add);
    }
    if (rows > 3) {
      pair(c + 3 * cStride, s30, s31, cols, add);
    }
  }

  private static void pair(long at, float x, float y, int cols, boolean add) {
    ALL.set(F32, at, add ? ALL.get(F32, at) + x : x);
    if (cols > 1) {
      ALL.set(F32, at + 4, add ? ALL.get(F32, at + 4) + y : y);
    }
  }
}
