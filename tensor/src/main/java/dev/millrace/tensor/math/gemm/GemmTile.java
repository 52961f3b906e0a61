package dev.millrace.tensor.math.gemm;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.math.AllMemory;

/**
 * The innermost part of a matrix product: a tile of C, {@link #rows} high and two vectors wide, is
 * kept in registers while the products of a column of A and a row of B are added to it. One for
 * each element type. See {@link AllMemory} why these take addresses.
 */
public sealed interface GemmTile permits FloatTile, DoubleTile {
  /** The tile of floats or doubles. */
  static GemmTile of(DType type) {
    return switch (type) {
      case FLOAT -> FloatTile.INSTANCE;
      case DOUBLE -> DoubleTile.INSTANCE;
      default -> throw new IllegalArgumentException("no tiles of " + type);
    };
  }

  /** Rows of a tile, and elements of each column of a packed panel of A. */
  int rows();

  /** Elements of a vector; a tile is two vectors wide. */
  int lanes();

  int elementBytes();

  /**
   * Computes a tile of C.
   *
   * @param k columns of A and rows of B
   * @param a address of the panel of A; its columns are {@link #rows} elements long, one after the
   *     other
   * @param b address of the panel of B; its rows are one after the other
   * @param c address of the tile's first element
   * @param cStride bytes from one row of C to the next
   * @param wide whether the panel of B, and so the tile, is two vectors wide or only one
   */
  void multiply(int k, long a, long b, long c, long cStride, boolean wide);

  /**
   * Puts, or adds, the upper left {@code rows} by {@code cols} elements of a tile into C; strides
   * are in bytes.
   */
  void store(long tile, long tileStride, long c, long cStride, int rows, int cols, boolean add);
}
