package dev.millrace.tensor.math.gemm;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.VectorModule;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.onednn.OneDnn;
import java.lang.foreign.MemorySegment;

/**
 * A matrix product, C = op(A) op(B) or C += op(A) op(B), over dense row-major matrices in native
 * memory, where op transposes or does nothing. Large products are split over the compute threads;
 * the result does not depend on which thread does what.
 *
 * <p>Floats go to oneDNN where it is available, but for products with few columns and those of
 * which more than half would be by zero. Doubles, and floats without it, are multiplied in Java,
 * with the Vector API where the JVM has it. 16-bit floats are summed as floats and rounded once;
 * integers wrap around.
 *
 * @param m rows of op(A) and C
 * @param n columns of op(B) and C
 * @param k columns of op(A) and rows of op(B)
 * @param lda elements from one row of A, as it is stored, to the next; likewise the others
 */
public record Gemm(
    DType type, boolean transA, boolean transB, int m, int n, int k, int lda, int ldb, int ldc) {
  /** Multiplications for a thread that are worth waking it: some ten microseconds. */
  private static final long WORTH_WAKING = 1_000_000;

  /** Multiplications for a thread that are worth sharing with one that is awake. */
  private static final long WORTH_SHARING = 250_000;

  /** Split at multiples of these, so that threads share no cache line and few tiles are cut. */
  private static final int ROW_UNIT = 8;

  private static final int COLUMN_UNIT = 16;

  /** A product of matrices without gaps between their rows. */
  public static Gemm of(DType type, boolean transA, boolean transB, int m, int n, int k) {
    return new Gemm(type, transA, transB, m, n, k, transA ? m : k, transB ? k : n, n);
  }

  /** Multiplies matrices without gaps between their rows; see {@link #multiply}. */
  public static void run(
      DType type,
      boolean transA,
      boolean transB,
      int m,
      int n,
      int k,
      MemorySegment a,
      MemorySegment b,
      MemorySegment c,
      boolean accumulate) {
    of(type, transA, transB, m, n, k).multiply(a, b, c, accumulate);
  }

  /**
   * Computes the product into {@code c}, which must not overlap the others. Without {@code
   * accumulate} what was in {@code c} does not matter.
   */
  public void multiply(MemorySegment a, MemorySegment b, MemorySegment c, boolean accumulate) {
    multiply(a, b, c, accumulate, true);
  }

  /** The same; only with {@code split}, or of short floats, on more than the calling thread. */
  public void multiply(
      MemorySegment a, MemorySegment b, MemorySegment c, boolean accumulate, boolean split) {
    checkSize("A", a, transA ? k : m, transA ? m : k, lda);
    checkSize("B", b, transB ? n : k, transB ? k : n, ldb);
    checkSize("C", c, m, n, ldc);
    if (m == 0 || n == 0) {
      return;
    }
    if (k == 0) {
      if (!accumulate) {
        for (int i = 0; i < m; i++) {
          c.asSlice((long) i * ldc * type.bytes(), (long) n * type.bytes()).fill((byte) 0);
        }
      }
      return;
    }
    switch (type) {
      case FLOAT, DOUBLE -> {
        if (split) {
          split(a, b, c, accumulate);
        } else {
          block(a, b, c, accumulate, 0, m, 0, n);
        }
      }
      case HALF, BFLOAT16 -> ShortFloatGemm.multiply(this, a, b, c, accumulate);
      case INT16, INT32, INT64 ->
          Parallel.run(
              m,
              split ? grain(m, ROW_UNIT) : m,
              (from, to) -> IntegerGemm.rows(this, a, b, c, accumulate, (int) from, (int) to));
      case COMPLEX64, COMPLEX128 -> ComplexGemm.multiply(this, a, b, c, accumulate, split);
      default ->
          throw MillraceException.invalid(
              "There is no matrix product of %s; it takes half, bfloat16, float, double, int16,"
                  + " int32, int64, complex64 and complex128.",
              type);
    }
  }

  private void split(MemorySegment a, MemorySegment b, MemorySegment c, boolean accumulate) {
    boolean skip = VectorModule.isPresent() && SparseAwareGemm.suits(this, a, b);
    long grain = m >= n ? grain(m, ROW_UNIT) : grain(n, COLUMN_UNIT);
    if (grain >= Math.max(m, n)) {
      part(a, b, c, accumulate, skip, 0, m, 0, n);
    } else if (m >= n) {
      share(m, grain, (from, to) -> part(a, b, c, accumulate, skip, (int) from, (int) to, 0, n));
    } else {
      share(n, grain, (from, to) -> part(a, b, c, accumulate, skip, 0, m, (int) from, (int) to));
    }
  }

  /** Computes a block, with {@code skip} leaving out zeros of A unless B is not finite there. */
  private void part(
      MemorySegment a,
      MemorySegment b,
      MemorySegment c,
      boolean accumulate,
      boolean skip,
      int i0,
      int i1,
      int j0,
      int j1) {
    if (skip && SparseAwareGemm.isFinite(this, b, j0, j1)) {
      SparseAwareGemm.multiply(this, a, b, c, accumulate, i0, i1, j0, j1);
    } else {
      block(a, b, c, accumulate, i0, i1, j0, j1);
    }
  }

  private void share(int size, long grain, Parallel.Range body) {
    if (work() >= 2 * WORTH_WAKING) {
      Parallel.run(size, grain, body);
    } else {
      Parallel.runBrief(size, grain, body);
    }
  }

  /** Computes rows {@code i0} to {@code i1} and columns {@code j0} to {@code j1} of C. */
  private void block(
      MemorySegment a,
      MemorySegment b,
      MemorySegment c,
      boolean accumulate,
      int i0,
      int i1,
      int j0,
      int j1) {
    boolean vectors = VectorModule.isPresent();
    if (vectors && ThinGemm.suits(this, i1 - i0, j1 - j0)) {
      ThinGemm.multiply(this, a, b, c, accumulate, i0, i1, j0, j1);
    } else if (vectors && DotGemm.suits(this, i1 - i0, j1 - j0)) {
      DotGemm.multiply(this, a, b, c, accumulate, i0, i1, j0, j1);
    } else if (type == DType.FLOAT && OneDnn.isAvailable()) {
      long aAt = a.address() + 4L * i0 * (transA ? 1 : lda);
      long bAt = b.address() + 4L * j0 * (transB ? ldb : 1);
      long cAt = c.address() + 4L * ((long) i0 * ldc + j0);
      Gemm part = new Gemm(type, transA, transB, i1 - i0, j1 - j0, k, lda, ldb, ldc);
      OneDnnGemm.multiply(part, aAt, bAt, cAt, accumulate);
    } else if (vectors) {
      VectorGemm.multiply(this, a, b, c, accumulate, i0, i1, j0, j1);
    } else {
      PlainGemm.multiply(this, a, b, c, accumulate, i0, i1, j0, j1);
    }
  }

  /** How many of {@code size} rows or columns a thread gets; all if another is not worth it. */
  private long grain(long size, int unit) {
    long threads = Math.clamp(work() / WORTH_SHARING, 1, Parallel.threads());
    return ((size + threads - 1) / threads + unit - 1) / unit * unit;
  }

  /** Multiplications of the product. */
  private long work() {
    return (long) m * n * k;
  }

  private void checkSize(String name, MemorySegment s, long rows, long cols, long stride) {
    long needed = rows == 0 || cols == 0 ? 0 : ((rows - 1) * stride + cols) * type.bytes();
    if (stride < cols || s.byteSize() < needed || !s.isNative()) {
      throw new IllegalArgumentException(
          "%s of %s does not fit %d native bytes; it needs %d"
              .formatted(name, this, s.byteSize(), needed));
    }
  }
}
