package dev.millrace.tensor.math.gemm;

import static dev.millrace.tensor.math.AllMemory.ALL;

import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorSpecies;

/**
 * Products of floats with few columns whose left matrix is transposed, as the gradient by the
 * weights of a layer with few outputs. Rows of A are read where they lie, whole vectors at a time,
 * so that no lane is wasted on the few columns. What comes out is the product transposed; that
 * stays in the first cache until it is turned.
 */
final class ThinGemm {
  private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
  private static final VectorSpecies<Integer> I = IntVector.SPECIES_PREFERRED;
  private static final ByteOrder ORDER = ByteOrder.LITTLE_ENDIAN;
  private static final ValueLayout.OfInt ELEMENT = ValueLayout.JAVA_INT_UNALIGNED;
  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final long VECTOR_BYTES = S.vectorByteSize();

  /** Columns of B that are multiplied at a time, and at most. */
  private static final int GROUP = 5;

  private static final int MAX_COLUMNS = 4 * GROUP;

  /** Bytes from one row of the copy of B to the next: a constant, so bounds are checked once. */
  private static final long B_ROW = 4L * MAX_COLUMNS;

  /** Rows of B that stay in the first cache. */
  private static final int DEPTH = 256;

  /** Rows of C computed at a time. */
  private static final int ROWS = 2 * S.length();

  /** Rows of C whose transposed stays in the first cache. */
  private static final int BLOCK = 4 * ROWS;

  private ThinGemm() {}

  /** Whether this is the way to compute {@code rows} by {@code cols} elements of a product. */
  static boolean suits(Gemm g, int rows, int cols) {
    return g.type() == DType.FLOAT
        && g.transA()
        && !g.transB()
        && cols >= 4
        && cols <= MAX_COLUMNS
        && rows >= ROWS;
  }

  /** Computes rows {@code i0} to {@code i1} and columns {@code j0} to {@code j1} of C. */
  static void multiply(
      Gemm g,
      MemorySegment a,
      MemorySegment b,
      MemorySegment c,
      boolean add,
      int i0,
      int i1,
      int j0,
      int j1) {
    int cols = j1 - j0;
    long line = 4L * Math.min(BLOCK, i1 - i0);
    long turnedBytes = (cols + GROUP - 1L) / GROUP * GROUP * line;
    Buffer buffer = BufferPool.current().allocate(DEPTH * B_ROW + turnedBytes + cols * line);
    long copy = buffer.memory().address();
    long turned = copy + DEPTH * B_ROW;
    long product = turned + turnedBytes;
    try {
      for (int p = 0; p < g.k(); p += DEPTH) {
        int depth = Math.min(DEPTH, g.k() - p);
        copyB(b.address() + 4L * ((long) p * g.ldb() + j0), 4L * g.ldb(), depth, cols, copy);
        for (int i = i0; i < i1; i += BLOCK) {
          int rows = Math.min(BLOCK, i1 - i);
          // The last rows are taken together with some before them, to fill the vectors.
          int from = Math.max(i0, Math.min(i, i1 - ROWS));
          block(g, a.address(), p, depth, from, i + rows - from, cols, copy, turned, line);
          Panel.transpose(
              turned + 4L * (i - from),
              line,
              /* rows= */ cols,
              /* cols= */ rows,
              product,
              4L * cols);
          long to = c.address() + 4L * ((long) i * g.ldc() + j0);
          store(product, rows, cols, to, 4L * g.ldc(), add || p > 0);
        }
      }
    } finally {
      buffer.release();
    }
  }

  /** Copies rows of B to where they are a constant stride apart. */
  private static void copyB(long b, long stride, int depth, int cols, long to) {
    if (cols % GROUP != 0) {
      ALL.asSlice(to, depth * B_ROW).fill((byte) 0);
    }
    for (int j = 0; j < cols; j += S.length()) {
      VectorMask<Float> mask = S.indexInRange(j, cols);
      for (long p = 0; p < depth; p++) {
        FloatVector.fromMemorySegment(S, ALL, b + p * stride + 4L * j, ORDER, mask)
            .intoMemorySegment(ALL, to + p * B_ROW + 4L * j, ORDER, mask);
      }
    }
  }

  /** The transposed product of {@code rows} columns of A and the copy of B. */
  private static void block(
      Gemm g,
      long a,
      int p,
      int depth,
      int from,
      int rows,
      int cols,
      long copy,
      long turned,
      long line) {
    long stride = 4L * g.lda();
    for (int r = 0; r < rows; r += ROWS) {
      int row = Math.min(r, rows - ROWS);
      long aAt = a + p * stride + 4L * (from + row);
      for (int j = 0; j < cols; j += GROUP) {
        tile(depth, aAt, stride, copy + 4L * j, turned + j * line + 4L * row, line);
      }
    }
  }

  /** Two vectors of rows by five columns. */
  private static void tile(int k, long a, long aStride, long b, long to, long line) {
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
    for (long p = 0; p < k; p++) {
      FloatVector x = FloatVector.fromMemorySegment(S, ALL, a + p * aStride, ORDER);
      FloatVector y = FloatVector.fromMemorySegment(S, ALL, a + p * aStride + VECTOR_BYTES, ORDER);
      long q = b + p * B_ROW;
      FloatVector z = IntVector.broadcast(I, ALL.get(ELEMENT, q)).reinterpretAsFloats();
      c0x = z.fma(x, c0x);
      c0y = z.fma(y, c0y);
      z = IntVector.broadcast(I, ALL.get(ELEMENT, q + 4)).reinterpretAsFloats();
      c1x = z.fma(x, c1x);
      c1y = z.fma(y, c1y);
      z = IntVector.broadcast(I, ALL.get(ELEMENT, q + 8)).reinterpretAsFloats();
      c2x = z.fma(x, c2x);
      c2y = z.fma(y, c2y);
      z = IntVector.broadcast(I, ALL.get(ELEMENT, q + 12)).reinterpretAsFloats();
      c3x = z.fma(x, c3x);
      c3y = z.fma(y, c3y);
      z = IntVector.broadcast(I, ALL.get(ELEMENT, q + 16)).reinterpretAsFloats();
      c4x = z.fma(x, c4x);
      c4y = z.fma(y, c4y);
    }
    c0x.intoMemorySegment(ALL, to, ORDER);
    c0y.intoMemorySegment(ALL, to + VECTOR_BYTES, ORDER);
    c1x.intoMemorySegment(ALL, to + line, ORDER);
    c1y.intoMemorySegment(ALL, to + line + VECTOR_BYTES, ORDER);
    c2x.intoMemorySegment(ALL, to + 2 * line, ORDER);
    c2y.intoMemorySegment(ALL, to + 2 * line + VECTOR_BYTES, ORDER);
    c3x.intoMemorySegment(ALL, to + 3 * line, ORDER);
    c3y.intoMemorySegment(ALL, to + 3 * line + VECTOR_BYTES, ORDER);
    c4x.intoMemorySegment(ALL, to + 4 * line, ORDER);
    c4y.intoMemorySegment(ALL, to + 4 * line + VECTOR_BYTES, ORDER);
  }

  private static void store(long product, int rows, int cols, long c, long stride, boolean add) {
    if (stride == 4L * cols) {
      store(product, (long) rows * cols, c, add);
    } else {
      for (int i = 0; i < rows; i++) {
        store(product + 4L * i * cols, cols, c + i * stride, add);
      }
    }
  }

  private static void store(long from, long n, long c, boolean add) {
    if (!add) {
      MemorySegment.copy(ALL, from, ALL, c, 4 * n);
      return;
    }
    long whole = S.loopBound(n) * 4;
    for (long i = 0; i < whole; i += VECTOR_BYTES) {
      FloatVector.fromMemorySegment(S, ALL, from + i, ORDER)
          .add(FloatVector.fromMemorySegment(S, ALL, c + i, ORDER))
          .intoMemorySegment(ALL, c + i, ORDER);
    }
    for (long i = whole; i < 4 * n; i += 4) {
      ALL.set(F32, c + i, ALL.get(F32, c + i) + ALL.get(F32, from + i));
    }
  }
}
