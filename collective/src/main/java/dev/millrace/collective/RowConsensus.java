package dev.millrace.collective;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Arrays;

/** What ranks must agree on when they move rows of tensors, and how rows are shared out. */
final class RowConsensus {
  private static final int MAX_RANK = 8;

  private RowConsensus() {}

  /** Bytes of one row, that is, of all but the first dimension. */
  static long rowBytes(DType dtype, Shape shape) {
    return shape.slice(1, shape.rank()).elements() * dtype.bytes();
  }

  /**
   * How many rows each rank has, after making sure that the tensors of all ranks agree in all but
   * that. All ranks must call it; if they do not agree, it fails on all of them alike.
   */
  static long[] onRows(Communicator ranks, String what, Tensor tensor) {
    Shape shape = tensor.shape();
    requireRows(what, shape);
    long[] words = new long[2 + MAX_RANK];
    words[0] = tensor.dtype().number();
    words[1] = shape.rank();
    for (int i = 0; i < Math.min(shape.rank(), MAX_RANK); i++) {
      words[2 + i] = shape.dim(i);
    }
    long[][] all = ranks.exchange(words);
    long[] rows = new long[all.length];
    for (int r = 0; r < all.length; r++) {
      rows[r] = all[r][2];
      boolean same =
          Arrays.equals(all[r], 0, 2, all[0], 0, 2)
              && Arrays.equals(all[r], 3, 2 + MAX_RANK, all[0], 3, 2 + MAX_RANK);
      if (!same) {
        throw MillraceException.invalid(
            "The tensors of an %s must agree in type and in all but the first dimension: rank 0"
                + " has %s, rank %d has %s.",
            what, describe(all[0]), r, describe(all[r]));
      }
    }
    return rows;
  }

  static void requireRows(String what, Shape shape) {
    if (shape.rank() < 1 || shape.rank() > MAX_RANK) {
      throw MillraceException.invalid(
          "An %s needs a tensor of 1 to %d dimensions, along the first of which it works; this one"
              + " has shape %s. Reshape it.",
          what, MAX_RANK, shape);
    }
  }

  private static String describe(long[] words) {
    int rank = (int) words[1];
    return DType.of((int) words[0]).label() + Shape.of(Arrays.copyOfRange(words, 2, 2 + rank));
  }

  /** How many rows go to each rank: as given, or equally many. */
  static long[] splits(Shape shape, long[] given, int size) {
    requireRows("all-to-all", shape);
    long rows = shape.dim(0);
    if (given.length == 0) {
      if (rows % size != 0) {
        throw MillraceException.invalid(
            "An all-to-all of %d rows between %d ranks does not divide evenly: give splits.",
            rows, size);
      }
      long[] even = new long[size];
      Arrays.fill(even, rows / size);
      return even;
    }
    boolean sound = given.length == size && Arrays.stream(given).allMatch(s -> s >= 0);
    if (!sound || Arrays.stream(given).sum() != rows) {
      throw MillraceException.invalid(
          "The splits %s of an all-to-all must be %d numbers that add up to the %d rows of shape"
              + " %s.",
          Arrays.toString(given), size, rows, shape);
    }
    return given.clone();
  }

  /** How many rows of a reduce-scatter each rank gets. */
  static long[] shares(Shape shape, int size) {
    requireRows("reduce-scatter", shape);
    long[] rows = new long[size];
    Arrays.setAll(rows, r -> shape.dim(0) / size + (r < shape.dim(0) % size ? 1 : 0));
    return rows;
  }
}
