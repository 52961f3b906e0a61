package dev.millrace.tensor.math;

import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import java.lang.foreign.MemorySegment;

/**
 * Matrix products in Java with the Vector API. The classical scheme: blocks of A and B that fit the
 * caches are copied into panels in the order in which they are read, and {@link GemmTile tiles} of
 * C are computed from one panel of each.
 *
 * <p>A panel of A is as many rows as a tile has, stored column by column; a panel of B is as many
 * columns as a tile has, stored row by row.
 */
final class VectorGemm {
  /** Depth of a block: a panel of B of this depth stays in the first cache. */
  private static final int DEPTH = 256;

  /** Panels of A in a block, which stays in the second cache. */
  private static final int A_PANELS = 16;

  /** Panels of B in a block. */
  private static final int B_PANELS = 16;

  private VectorGemm() {}

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
    GemmTile tile = g.type() == DType.FLOAT ? FloatTile.INSTANCE : DoubleTile.INSTANCE;
    int bytes = tile.elementBytes();
    int height = tile.rows();
    int width = 2 * tile.lanes();
    // Equal blocks instead of full ones and a small rest.
    int blocks = (g.k() + DEPTH - 1) / DEPTH;
    int depth = (g.k() + blocks - 1) / blocks;
    int aRows = Math.min(A_PANELS * height, roundUp(i1 - i0, height));
    int bCols = Math.min(B_PANELS * width, roundUp(j1 - j0, width));
    long bPanels = roundUp((long) aRows * depth * bytes, 64);
    long tileAt = roundUp(bPanels + (long) bCols * depth * bytes, 64);
    Buffer scratch = BufferPool.shared().allocate(tileAt + (long) height * width * bytes);
    MemorySegment s = scratch.memory();
    long aStride = (long) g.lda() * bytes;
    long bStride = (long) g.ldb() * bytes;
    long cStride = (long) g.ldc() * bytes;
    try {
      for (int j = j0; j < j1; j += bCols) {
        int cols = Math.min(bCols, j1 - j);
        for (int p = 0; p < g.k(); p += depth) {
          int d = Math.min(depth, g.k() - p);
          boolean add = accumulate || p > 0;
          for (int jj = 0; jj < cols; jj += width) {
            long from =
                g.transB()
                    ? (j + jj) * bStride + (long) p * bytes
                    : p * bStride + (long) (j + jj) * bytes;
            Panel.pack(
                b,
                from,
                bStride,
                g.transB(),
                d,
                Math.min(width, cols - jj),
                s,
                bPanels + (long) jj * depth * bytes,
                width,
                bytes);
          }
          for (int i = i0; i < i1; i += aRows) {
            int rows = Math.min(aRows, i1 - i);
            for (int ii = 0; ii < rows; ii += height) {
              long from =
                  g.transA()
                      ? p * aStride + (long) (i + ii) * bytes
                      : (i + ii) * aStride + (long) p * bytes;
              Panel.pack(
                  a,
                  from,
                  aStride,
                  !g.transA(),
                  d,
                  Math.min(height, rows - ii),
                  s,
                  (long) ii * depth * bytes,
                  height,
                  bytes);
            }
            for (int jj = 0; jj < cols; jj += width) {
              for (int ii = 0; ii < rows; ii += height) {
                int r = Math.min(height, rows - ii);
                int w = Math.min(width, cols - jj);
                boolean wide = w > tile.lanes();
                long cAt = (i + ii) * cStride + (long) (j + jj) * bytes;
                long aAt = (long) ii * depth * bytes;
                long bAt = bPanels + (long) jj * depth * bytes;
                if (r == height && !add && w % tile.lanes() == 0) {
                  tile.multiply(d, s, aAt, s, bAt, (long) width * bytes, c, cAt, cStride, wide);
                } else {
                  tile.multiply(
                      d,
                      s,
                      aAt,
                      s,
                      bAt,
                      (long) width * bytes,
                      s,
                      tileAt,
                      (long) width * bytes,
                      wide);
                  tile.store(s, tileAt, (long) width * bytes, c, cAt, cStride, r, w, add);
                }
              }
            }
          }
        }
      }
    } finally {
      scratch.release();
    }
  }

  private static int roundUp(int n, int unit) {
    return (n + unit - 1) / unit * unit;
  }

  private static long roundUp(long n, int unit) {
    return (n + unit - 1) / unit * unit;
  }
}
