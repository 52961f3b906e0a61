package dev.millrace.tensor.math;

import dev.millrace.tensor.DType;
import java.lang.foreign.MemorySegment;

/**
 * The innermost part of a matrix product: a tile of C, {@link #rows} high and two vectors wide, is
 * kept in registers while the products of a column of A and a row of B are added to it. One for
 * each element type.
 */
sealed interface GemmTile permits FloatTile, DoubleTile {
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
   * @param aAt where the panel of A begins, in bytes like all offsets and strides; its columns are
   *     {@link #rows} elements long, one after the other
   * @param bAt where the panel of B begins; its rows are one after the other
   * @param wide whether the panel of B, and so the tile, is two vectors wide or only one
   */
  void multiply(
      int k,
      MemorySegment a,
      long aAt,
      MemorySegment b,
      long bAt,
      MemorySegment c,
      long cAt,
      long cStride,
      boolean wide);

  /** Puts, or adds, the upper left {@code rows} by {@code cols} elements of a tile into C. */
  void store(
      MemorySegment tile,
      long tileAt,
      long tileStride,
      MemorySegment c,
      long cAt,
      long cStride,
      int rows,
      int cols,
      boolean add);
}
