package dev.millrace.tensor.math.gemm;

import dev.millrace.tensor.math.onednn.OneDnn;
import dev.millrace.tensor.math.onednn.OneDnnPrimitive;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Products of floats by oneDNN on the calling thread: which of its ways to take. Matrices that are
 * larger than the second cache are taken in slabs of rows, which lie in memory one after the other;
 * oneDNN itself would jump from row to row, and wait for each.
 */
final class OneDnnGemm {
  /** Bytes from which a matrix is large. */
  private static final long LARGE = 4 << 20;

  /** What must stay in the second cache while the slabs go by. */
  private static final long SMALL = 1 << 20;

  /** Rows of a slab. */
  private static final int SLAB = 128;

  /** Bytes that come into the cache together. */
  private static final long CACHE_LINE = 64;

  /** Keeps the compiler from leaving out reads that nobody needs the result of. */
  @SuppressWarnings("UnusedVariable")
  private static int fetched;

  private OneDnnGemm() {}

  /** Computes a product whose matrices begin at these addresses; C += with {@code add}. */
  static void multiply(Gemm g, long a, long b, long c, boolean add) {
    long bBytes = 4L * g.k() * g.n();
    long cBytes = 4L * g.m() * g.n();
    if (!g.transB() && bBytes >= LARGE && cBytes <= SMALL) {
      slabsOfB(g, a, b, c, add);
    } else if (add && cBytes >= LARGE && bBytes <= SMALL) {
      slabsOfC(g, a, b, c);
    } else {
      whole(g, a, b, c, add);
    }
  }

  private static void slabsOfB(Gemm g, long a, long b, long c, boolean add) {
    for (int p = 0; p < g.k(); p += SLAB) {
      int depth = Math.min(SLAB, g.k() - p);
      long aAt = a + 4L * p * (g.transA() ? g.lda() : 1);
      long bAt = b + 4L * p * g.ldb();
      general(g, g.m(), depth, aAt, bAt, c, add || p > 0);
    }
  }

  private static void slabsOfC(Gemm g, long a, long b, long c) {
    for (int i = 0; i < g.m(); i += SLAB) {
      int rows = Math.min(SLAB, g.m() - i);
      long aAt = a + 4L * i * (g.transA() ? 1 : g.lda());
      long cAt = c + 4L * i * g.ldc();
      fetch(cAt, 4L * ((rows - 1L) * g.ldc() + g.n()));
      general(g, rows, g.k(), aAt, b, cAt, true);
    }
  }

  /** Brings memory into the cache by reading it in order, which the processor does ahead. */
  private static void fetch(long at, long bytes) {
    MemorySegment m = MemorySegment.ofAddress(at).reinterpret(bytes);
    int bits = 0;
    for (long i = 0; i <= bytes - CACHE_LINE; i += CACHE_LINE) {
      bits |= m.get(ValueLayout.JAVA_INT_UNALIGNED, i);
    }
    fetched = bits;
  }

  private static void whole(Gemm g, long a, long b, long c, boolean add) {
    if (!add && g.m() > 1 && g.n() > 1 && OneDnnMatMul.isWorthIt(g)) {
      OneDnnPrimitive compiled = OneDnnMatMul.of(g);
      if (compiled != null) {
        compiled.run(a, b, c);
        return;
      }
    }
    general(g, g.m(), g.k(), a, b, c, add);
  }

  private static void general(Gemm g, int m, int k, long a, long b, long c, boolean add) {
    OneDnn.sgemm(
        g.transA(), g.transB(), m, g.n(), k, a, g.lda(), b, g.ldb(), add ? 1 : 0, c, g.ldc());
  }
}
