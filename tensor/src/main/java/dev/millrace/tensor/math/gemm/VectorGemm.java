package dev.millrace.tensor.math.gemm;

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
 * columns as a tile has, stored row by row. All panels lie in one piece of scratch memory: those of
 * A, those of B, and a tile for results that do not fill one.
 */
public final class VectorGemm {
  /** Depth of a block: a panel of A of this depth stays in the first cache. */
  private static final int DEPTH = 256;

  /** Panels of A in a block. */
  private static final int A_PANELS = 16;

  /** Panels of B in a block, which stays in the second cache. */
  private static final int B_PANELS = 16;

  /** Up to so many columns, dot products beat tiles that would be mostly empty. */
  private static final int FEW = 12;

  private final Gemm g;

  /** Addresses, like all that follow. */
  private final long a;

  private final long b;
  private final long c;
  private final GemmTile tile;
  private final int bytes;

  /** Depth of a block, and its columns of B and rows of A, in full panels. */
  private final int depth;

  private final int blockCols;
  private final int blockRows;

  /** The panels of A, those of B, and a tile for results that do not fill one. */
  private final long panels;

  private final long panelsOfB;
  private final long partial;

  private VectorGemm(
      Gemm g,
      MemorySegment a,
      MemorySegment b,
      MemorySegment c,
      GemmTile tile,
      int depth,
      int blockRows,
      int blockCols,
      Buffer scratch) {
    this.g = g;
    this.a = a.address();
    this.b = b.address();
    this.c = c.address();
    this.tile = tile;
    this.bytes = tile.elementBytes();
    this.depth = depth;
    this.blockRows = blockRows;
    this.blockCols = blockCols;
    this.panels = scratch.memory().address();
    this.panelsOfB = roundUp(panels + (long) blockRows * depth * bytes, 64);
    this.partial = roundUp(panelsOfB + (long) blockCols * depth * bytes, 64);
  }

  /** Computes rows {@code i0} to {@code i1} and columns {@code j0} to {@code j1} of C. */
  public static void multiply(
      Gemm g,
      MemorySegment a,
      MemorySegment b,
      MemorySegment c,
      boolean accumulate,
      int i0,
      int i1,
      int j0,
      int j1) {
    if (g.type() == DType.FLOAT && !g.transB() && i1 - i0 <= 2) {
      rows(g, a, b, c, accumulate, i0, i1, j0, j1);
      return;
    }
    int few = g.transB() ? Math.min(i1 - i0, j1 - j0) : j1 - j0;
    if (g.type() == DType.FLOAT && !g.transA() && few <= FEW) {
      DotGemm.multiply(g, a, b, c, accumulate, i0, i1, j0, j1);
      return;
    }
    GemmTile tile = GemmTile.of(g.type());
    // Equal blocks instead of full ones and a small rest.
    int blocks = (g.k() + DEPTH - 1) / DEPTH;
    int depth = (g.k() + blocks - 1) / blocks;
    int width = 2 * tile.lanes();
    int blockRows = (int) Math.min((long) A_PANELS * tile.rows(), roundUp(i1 - i0, tile.rows()));
    int blockCols = (int) Math.min((long) B_PANELS * width, roundUp(j1 - j0, width));
    long elements = (long) (blockRows + blockCols) * depth + (long) tile.rows() * width;
    Buffer scratch = BufferPool.current().allocate(elements * tile.elementBytes() + 128);
    try {
      new VectorGemm(g, a, b, c, tile, depth, blockRows, blockCols, scratch)
          .multiply(accumulate, i0, i1, j0, j1);
    } finally {
      scratch.release();
    }
  }

  private static void rows(
      Gemm g,
      MemorySegment a,
      MemorySegment b,
      MemorySegment c,
      boolean accumulate,
      int i0,
      int i1,
      int j0,
      int j1) {
    for (int i = i0; i < i1; i++) {
      long aAt = a.address() + 4L * i * (g.transA() ? 1 : g.lda());
      long aStride = 4L * (g.transA() ? g.lda() : 1);
      long bAt = b.address() + 4L * j0;
      long cAt = c.address() + 4L * ((long) i * g.ldc() + j0);
      RowGemm.multiply(g.k(), j1 - j0, aAt, aStride, bAt, 4L * g.ldb(), cAt, accumulate);
    }
  }

  private void multiply(boolean accumulate, int i0, int i1, int j0, int j1) {
    for (int j = j0; j < j1; j += blockCols) {
      int cols = Math.min(blockCols, j1 - j);
      for (int p = 0; p < g.k(); p += depth) {
        int d = Math.min(depth, g.k() - p);
        packB(p, d, j, cols);
        for (int i = i0; i < i1; i += blockRows) {
          int rows = Math.min(blockRows, i1 - i);
          packA(p, d, i, rows);
          tiles(d, i, rows, j, cols, accumulate || p > 0);
        }
      }
    }
  }

  private void packA(int p, int d, int i, int rows) {
    long stride = (long) g.lda() * bytes;
    int height = tile.rows();
    for (int ii = 0; ii < rows; ii += height) {
      long at =
          g.transA() ? p * stride + (long) (i + ii) * bytes : (i + ii) * stride + (long) p * bytes;
      int used = Math.min(height, rows - ii);
      Panel.pack(a + at, stride, !g.transA(), d, used, panelA(ii), height, bytes);
    }
  }

  private void packB(int p, int d, int j, int cols) {
    long stride = (long) g.ldb() * bytes;
    int width = 2 * tile.lanes();
    if (!g.transB() && bytes == 4 && cols % width == 0) {
      Panel.rows(
          b + p * stride + (long) j * bytes,
          stride,
          d,
          cols / width,
          panelB(0),
          4L * depth * width);
      return;
    }
    for (int jj = 0; jj < cols; jj += width) {
      long at =
          g.transB() ? (j + jj) * stride + (long) p * bytes : p * stride + (long) (j + jj) * bytes;
      int used = Math.min(width, cols - jj);
      int panelWidth = used > tile.lanes() ? width : tile.lanes();
      Panel.pack(b + at, stride, g.transB(), d, used, panelB(jj), panelWidth, bytes);
    }
  }

  /** Row by row, so that C, which may be large, is gone through in the order of its memory. */
  private void tiles(int d, int i, int rows, int j, int cols, boolean add) {
    long stride = (long) g.ldc() * bytes;
    int height = tile.rows();
    int lanes = tile.lanes();
    long tileStride = 2L * lanes * bytes;
    for (int ii = 0; ii < rows; ii += height) {
      int h = Math.min(height, rows - ii);
      for (int jj = 0; jj < cols; jj += 2 * lanes) {
        int w = Math.min(2 * lanes, cols - jj);
        boolean wide = w > lanes;
        long at = c + (i + ii) * stride + (long) (j + jj) * bytes;
        if (h == height && w % lanes == 0 && !add) {
          tile.multiply(d, panelA(ii), panelB(jj), at, stride, wide);
        } else {
          tile.multiply(d, panelA(ii), panelB(jj), partial, tileStride, wide);
          tile.store(partial, tileStride, at, stride, h, w, add);
        }
      }
    }
  }

  /** Where the panel of A begins that holds row {@code ii} of the block. */
  private long panelA(int ii) {
    return panels + (long) ii * depth * bytes;
  }

  private long panelB(int jj) {
    return panelsOfB + (long) jj * depth * bytes;
  }

  private static long roundUp(long n, int unit) {
    return (n + unit - 1) / unit * unit;
  }
}
