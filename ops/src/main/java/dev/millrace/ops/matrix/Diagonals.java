package dev.millrace.ops.matrix;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;

/**
 * A band of diagonals of matrices, from {@code low} below the main one (negative) to {@code high}
 * above it, and where each has its elements in a packed tensor. Diagonals are packed from the
 * highest down; a short one begins at the left or ends at the right.
 */
record Diagonals(
    long rows, long columns, long low, long high, boolean leftAbove, boolean leftBelow) {
  /** The band that {@code k}, one number or two, says of matrices of this size. */
  static Diagonals of(Tensor k, long rows, long columns, String align) {
    Diagonals d =
        new Diagonals(
            rows,
            columns,
            low(k),
            k.longAt(k.elements() - 1),
            align.startsWith("LEFT"),
            align.endsWith("LEFT"));
    d.check();
    return d;
  }

  /** The main diagonal. */
  static Diagonals main(long rows, long columns) {
    return new Diagonals(rows, columns, 0, 0, true, true);
  }

  static long low(Tensor k) {
    if (k.shape().rank() > 1 || k.elements() < 1 || k.elements() > 2) {
      throw MillraceException.invalid(
          "diag_index must be a scalar or vector with one or two elements, received shape: %s",
          k.shape());
    }
    if (k.longAt(0) > k.longAt(k.elements() - 1)) {
      throw MillraceException.invalid(
          "lower_diag_index must not be larger than upper_diag_index: %d > %d",
          k.longAt(0), k.longAt(1));
    }
    return k.longAt(0);
  }

  private void check() {
    for (long d : new long[] {low, high}) {
      if (!(d > -rows && d < columns) && d != 0) {
        throw MillraceException.invalid(
            "diag_index is out of bound: %d; it must be between %d and %d", d, -rows, columns);
      }
    }
  }

  long count() {
    return high - low + 1;
  }

  /** The elements of diagonal {@code d}. */
  long length(long d) {
    return Math.max(0, Math.min(rows + Math.min(0, d), columns - Math.max(0, d)));
  }

  /** The elements there are places for in each diagonal: as many as the longest has. */
  long longest() {
    return Math.max(0, Math.min(rows + Math.min(high, 0), columns - Math.max(low, 0)));
  }

  /** Where diagonal {@code d} begins among the places for it. */
  long start(long d) {
    boolean isLeft = d > 0 ? leftAbove : d < 0 ? leftBelow : leftAbove || leftBelow;
    return d == 0 && length(d) == longest() ? 0 : isLeft ? 0 : longest() - length(d);
  }

  /** The shape of the packed diagonals of matrices; several have a dimension of their own. */
  Shape packed(Shape batch) {
    return count() == 1
        ? batch.concat(Shape.of(longest()))
        : batch.concat(Shape.of(count(), longest()));
  }

  /** Takes places of the packed tensor and of the matrix that belong together. */
  interface Visitor {
    void run(long packed, long matrix);
  }

  /** Goes through all elements of the diagonals of matrix {@code b}. */
  void each(long b, Visitor visitor) {
    for (long d = high; d >= low; d--) {
      long packed = (b * count() + high - d) * longest() + start(d);
      long matrix = b * rows * columns + Math.max(0, -d) * columns + Math.max(0, d);
      for (long i = 0; i < length(d); i++) {
        visitor.run(packed + i, matrix + i * (columns + 1));
      }
    }
  }
}
