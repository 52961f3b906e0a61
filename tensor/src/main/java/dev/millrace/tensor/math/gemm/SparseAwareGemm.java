package dev.millrace.tensor.math.gemm;

import static dev.millrace.tensor.math.AllMemory.ALL;

import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicInteger;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Products of floats whose left matrix is mostly zero, as pixels of drawings, counts of words or
 * categories spread over columns are. Of each row of A the elements that are not zero are listed
 * first; a row of C is then the sum of the rows of B that they name.
 *
 * <p>A zero times NaN or infinity is NaN, which would be left out: with such numbers in B, this is
 * not the way.
 *
 * <p>Before they are compiled these loops are a thousand times as slow. So the first products go
 * the usual way, and each only lends some rows for practice. How many that are is fixed, for the
 * same program to compute the same to the bit whenever it runs.
 */
final class SparseAwareGemm {
  private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
  private static final VectorSpecies<Integer> I = IntVector.SPECIES_PREFERRED;
  private static final ByteOrder ORDER = ByteOrder.LITTLE_ENDIAN;
  private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;
  private static final long VECTOR_BYTES = S.vectorByteSize();

  /** Columns of C that are kept in registers, and bytes of a row of a block of B. */
  private static final int WIDTH = 8 * S.length();

  private static final long B_ROW = 8 * VECTOR_BYTES;

  /** Rows of a block of B, which stays in the first cache. */
  private static final int DEPTH = 64;

  private static final long BLOCK = DEPTH * B_ROW;

  /** Rows of A, and blocks of its columns, that are listed before they are used. */
  private static final int LISTED_ROWS = 1024;

  private static final int LISTED_BLOCKS = 16;

  /** Shorter vectors are compressed one element at a time. */
  private static final boolean COMPRESSES = S.length() >= 8;

  /** Below so many rows, or multiplications, looking for zeros is not worth it. */
  private static final int FEW_ROWS = 32;

  private static final long FEW_MULTIPLICATIONS = 4_000_000;

  /** Products that lend rows for practice, and how many rows. */
  static final int PRACTICE = 500;

  private static final int PRACTICE_ROWS = 8;

  private static final AtomicInteger PRACTISED = new AtomicInteger();

  /** Elements from one vector of A that is looked at to the next: a prime, for other columns. */
  private static final int SAMPLE = 83;

  /** The end of a row's list. */
  private static final int END = -1;

  private final Gemm g;

  /** Addresses, like all that follow. */
  private final long a;

  private final long b;
  private final long c;

  /** Rows of a block, all but the last of which are equal. */
  private final int depth;

  /** A block of B; where in it the rows that lists name begin, and their factors. */
  private final long block;

  private final long offsets;
  private final long factors;

  /** Room for a part of A transposed, or a row of C. */
  private final long turned;

  private SparseAwareGemm(
      Gemm g,
      MemorySegment a,
      MemorySegment b,
      MemorySegment c,
      int depth,
      long listBytes,
      Buffer scratch) {
    this.g = g;
    this.a = a.address();
    this.b = b.address();
    this.c = c.address();
    this.depth = depth;
    this.block = scratch.memory().address();
    this.offsets = block + BLOCK;
    this.factors = offsets + listBytes;
    this.turned = factors + listBytes;
  }

  /** Whether this is the way to compute a product, but for what {@link #isFinite} says of B. */
  static boolean suits(Gemm g, MemorySegment a, MemorySegment b) {
    if (!COMPRESSES
        || g.type() != DType.FLOAT
        || g.m() < FEW_ROWS
        || g.n() < WIDTH
        || (long) g.m() * g.n() * g.k() < FEW_MULTIPLICATIONS
        || g.lda() != (g.transA() ? g.m() : g.k())
        || !isHalfZero(a.address(), (long) g.m() * g.k())) {
      return false;
    }
    if (PRACTISED.get() < PRACTICE) {
      PRACTISED.incrementAndGet();
      practise(g, a, b);
      return false;
    }
    return true;
  }

  /** Computes some rows for nobody. */
  private static void practise(Gemm g, MemorySegment a, MemorySegment b) {
    Gemm part =
        new Gemm(g.type(), g.transA(), g.transB(), g.m(), g.n(), g.k(), g.lda(), g.ldb(), WIDTH);
    Buffer rows = BufferPool.current().allocate(PRACTICE_ROWS * B_ROW);
    try {
      if (isFinite(g, b, 0, WIDTH)) {
        multiply(part, a, b, rows.memory(), false, 0, PRACTICE_ROWS, 0, WIDTH);
      }
    } finally {
      rows.release();
    }
  }

  /** Whether columns {@code j0} to {@code j1} of B hold neither NaN nor infinity. */
  static boolean isFinite(Gemm g, MemorySegment b, int j0, int j1) {
    return g.transB()
        ? Finite.rows(b.address() + 4L * j0 * g.ldb(), j1 - j0, g.k(), 4L * g.ldb())
        : Finite.rows(b.address() + 4L * j0, g.k(), j1 - j0, 4L * g.ldb());
  }

  /** Looks at some vectors of A all over it. */
  private static boolean isHalfZero(long a, long n) {
    long zeros = 0;
    long seen = 0;
    for (long i = 0; i <= n - S.length(); i += SAMPLE) {
      zeros +=
          FloatVector.fromMemorySegment(S, ALL, a + 4 * i, ORDER)
              .compare(VectorOperators.EQ, 0)
              .trueCount();
      seen += S.length();
    }
    return 2 * zeros >= seen;
  }

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
    // Equal blocks instead of full ones and a small rest.
    int blocks = (g.k() + DEPTH - 1) / DEPTH;
    int depth = (g.k() + blocks - 1) / blocks;
    int listedRows = Math.min(LISTED_ROWS, i1 - i0);
    int listedBlocks = Math.min(LISTED_BLOCKS, blocks);
    // Every row of a block has an end, and what is written last may reach a vector beyond it.
    long listBytes = 4L * listedRows * listedBlocks * (depth + 1) + VECTOR_BYTES;
    long turnedBytes = g.transA() ? 4L * listedRows * depth : 0;
    Buffer scratch =
        BufferPool.current().allocate(BLOCK + 2 * listBytes + Math.max(turnedBytes, B_ROW));
    try {
      SparseAwareGemm product = new SparseAwareGemm(g, a, b, c, depth, listBytes, scratch);
      for (int p = 0; p < g.k(); p += listedBlocks * depth) {
        int end = Math.min(g.k(), p + listedBlocks * depth);
        for (int i = i0; i < i1; i += listedRows) {
          int rows = Math.min(listedRows, i1 - i);
          product.list(i, rows, p, end);
          product.multiply(i, rows, p, end, j0, j1, accumulate || p > 0);
        }
      }
    } finally {
      scratch.release();
    }
  }

  /** Lists what is not zero in these rows and columns of A, block by block and row by row. */
  private void list(int i, int rows, int from, int end) {
    long n = 0;
    for (int p = from; p < end; p += depth) {
      int d = Math.min(depth, end - p);
      long stride = 4L * g.lda();
      long at = a + (g.transA() ? p * stride + 4L * i : i * stride + 4L * p);
      if (g.transA()) {
        Panel.transpose(at, stride, d, rows, turned, 4L * d);
        at = turned;
        stride = 4L * d;
      }
      for (int r = 0; r < rows; r++) {
        n = listRow(at + r * stride, d, n);
      }
    }
  }

  private long listRow(long from, int d, long n) {
    long to = n;
    for (int p = 0; p < d; p += S.length()) {
      VectorMask<Float> inside = S.indexInRange(p, d);
      FloatVector x = FloatVector.fromMemorySegment(S, ALL, from + 4L * p, ORDER, inside);
      VectorMask<Float> isNot = x.compare(VectorOperators.NE, 0);
      IntVector at = IntVector.zero(I).addIndex(1).add(p).mul((int) B_ROW);
      at.compress(isNot.cast(I)).intoMemorySegment(ALL, offsets + 4 * to, ORDER);
      x.compress(isNot).intoMemorySegment(ALL, factors + 4 * to, ORDER);
      to += isNot.trueCount();
    }
    ALL.set(I32, offsets + 4 * to, END);
    return to + 1;
  }

  /** Multiplies what is listed by columns {@code j0} to {@code j1} of B. */
  private void multiply(int i, int rows, int from, int end, int j0, int j1, boolean add) {
    for (int j = j0; j < j1; j += WIDTH) {
      int width = Math.min(WIDTH, j1 - j);
      long to = c + 4L * ((long) i * g.ldc() + j);
      long n = 0;
      for (int p = from; p < end; p += depth) {
        copyB(p, Math.min(depth, end - p), j, width);
        boolean addHere = add || p > from;
        n = width == WIDTH ? rows(rows, n, to, addHere) : narrow(rows, n, to, width, addHere);
      }
    }
  }

  /** Copies part of B to where its rows are a constant stride apart. */
  private void copyB(int p, int d, int j, int width) {
    long stride = 4L * g.ldb();
    if (width < WIDTH) {
      ALL.asSlice(block, d * B_ROW).fill((byte) 0);
    }
    if (g.transB()) {
      Panel.transpose(b + j * stride + 4L * p, stride, width, d, block, B_ROW);
      return;
    }
    long from = b + p * stride + 4L * j;
    for (int i = 0; i < d; i++) {
      MemorySegment.copy(ALL, from + i * stride, ALL, block + i * B_ROW, 4L * width);
    }
  }

  private long rows(int rows, long n, long to, boolean add) {
    long next = n;
    for (int i = 0; i < rows; i++) {
      next = row(offsets, factors, next, block, to + 4L * i * g.ldc(), add);
    }
    return next;
  }

  /** The same for fewer columns than are kept in registers. */
  private long narrow(int rows, long n, long to, int width, boolean add) {
    long next = n;
    for (int i = 0; i < rows; i++) {
      long at = to + 4L * i * g.ldc();
      if (add) {
        MemorySegment.copy(ALL, at, ALL, turned, 4L * width);
      }
      next = row(offsets, factors, next, block, turned, add);
      MemorySegment.copy(ALL, turned, ALL, at, 4L * width);
    }
    return next;
  }

  /** Computes a row of C from the list that begins at {@code n}; answers where the next does. */
  private static long row(long offsets, long factors, long n, long b, long c, boolean add) {
    long t = n;
    int offset = ALL.get(I32, offsets + 4 * t);
    if (add && offset == END) {
      return t + 1;
    }
    FloatVector c0 = FloatVector.zero(S);
    FloatVector c1 = FloatVector.zero(S);
    FloatVector c2 = FloatVector.zero(S);
    FloatVector c3 = FloatVector.zero(S);
    FloatVector c4 = FloatVector.zero(S);
    FloatVector c5 = FloatVector.zero(S);
    FloatVector c6 = FloatVector.zero(S);
    FloatVector c7 = FloatVector.zero(S);
    if (add) {
      c0 = FloatVector.fromMemorySegment(S, ALL, c, ORDER);
      c1 = FloatVector.fromMemorySegment(S, ALL, c + VECTOR_BYTES, ORDER);
      c2 = FloatVector.fromMemorySegment(S, ALL, c + 2 * VECTOR_BYTES, ORDER);
      c3 = FloatVector.fromMemorySegment(S, ALL, c + 3 * VECTOR_BYTES, ORDER);
      c4 = FloatVector.fromMemorySegment(S, ALL, c + 4 * VECTOR_BYTES, ORDER);
      c5 = FloatVector.fromMemorySegment(S, ALL, c + 5 * VECTOR_BYTES, ORDER);
      c6 = FloatVector.fromMemorySegment(S, ALL, c + 6 * VECTOR_BYTES, ORDER);
      c7 = FloatVector.fromMemorySegment(S, ALL, c + 7 * VECTOR_BYTES, ORDER);
    }
    while (offset != END) {
      FloatVector x = IntVector.broadcast(I, ALL.get(I32, factors + 4 * t)).reinterpretAsFloats();
      long at = b + offset;
      c0 = x.fma(FloatVector.fromMemorySegment(S, ALL, at, ORDER), c0);
      c1 = x.fma(FloatVector.fromMemorySegment(S, ALL, at + VECTOR_BYTES, ORDER), c1);
      c2 = x.fma(FloatVector.fromMemorySegment(S, ALL, at + 2 * VECTOR_BYTES, ORDER), c2);
      c3 = x.fma(FloatVector.fromMemorySegment(S, ALL, at + 3 * VECTOR_BYTES, ORDER), c3);
      c4 = x.fma(FloatVector.fromMemorySegment(S, ALL, at + 4 * VECTOR_BYTES, ORDER), c4);
      c5 = x.fma(FloatVector.fromMemorySegment(S, ALL, at + 5 * VECTOR_BYTES, ORDER), c5);
      c6 = x.fma(FloatVector.fromMemorySegment(S, ALL, at + 6 * VECTOR_BYTES, ORDER), c6);
      c7 = x.fma(FloatVector.fromMemorySegment(S, ALL, at + 7 * VECTOR_BYTES, ORDER), c7);
      t++;
      offset = ALL.get(I32, offsets + 4 * t);
    }
    c0.intoMemorySegment(ALL, c, ORDER);
    c1.intoMemorySegment(ALL, c + VECTOR_BYTES, ORDER);
    c2.intoMemorySegment(ALL, c + 2 * VECTOR_BYTES, ORDER);
    c3.intoMemorySegment(ALL, c + 3 * VECTOR_BYTES, ORDER);
    c4.intoMemorySegment(ALL, c + 4 * VECTOR_BYTES, ORDER);
    c5.intoMemorySegment(ALL, c + 5 * VECTOR_BYTES, ORDER);
    c6.intoMemorySegment(ALL, c + 6 * VECTOR_BYTES, ORDER);
    c7.intoMemorySegment(ALL, c + 7 * VECTOR_BYTES, ORDER);
    return t + 1;
  }
}
