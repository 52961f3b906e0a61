package dev.millrace.tensor.math.linear;

import dev.millrace.tensor.math.complex.Complex;

/** Systems of equations with a matrix of three diagonals. */
public final class Tridiagonal {
  private Tridiagonal() {}

  /**
   * The solution of the system whose diagonals are the rows of {@code d}: the one above the main
   * diagonal, without its last element, the main one, and the one below, without its first. Null if
   * a pivot is 0.
   *
   * @param pivoting whether neighbouring rows are exchanged for the larger pivot
   */
  public static DenseMatrix solve(DenseMatrix d, DenseMatrix rhs, boolean pivoting) {
    int n = rhs.rows;
    DenseMatrix x = rhs.copy();
    // Each row of the elimination: its pivot, and what stands one and two places right of it.
    Complex[] pivot = new Complex[n];
    Complex[] next = new Complex[n];
    Complex[] second = new Complex[n];
    for (int i = 0; i < n; i++) {
      pivot[i] = d.at(1, i);
      next[i] = i + 1 < n ? d.at(0, i) : Complex.ZERO;
      second[i] = Complex.ZERO;
    }
    for (int i = 0; i + 1 < n; i++) {
      Complex below = d.at(2, i + 1);
      if (pivoting && below.abs() > pivot[i].abs()) {
        x.swapRows(i, i + 1);
        Complex p = pivot[i];
        Complex q = next[i];
        pivot[i] = below;
        next[i] = pivot[i + 1];
        second[i] = next[i + 1];
        below = p;
        pivot[i + 1] = q;
        next[i + 1] = Complex.ZERO;
      }
      if (pivot[i].isZero()) {
        return null;
      }
      Complex factor = below.over(pivot[i]).negated();
      pivot[i + 1] = pivot[i + 1].plus(factor.times(next[i]));
      next[i + 1] = next[i + 1].plus(factor.times(second[i]));
      x.addRow(i + 1, factor, x, i, 0);
    }
    if (n > 0 && pivot[n - 1].isZero()) {
      return null;
    }
    for (int i = n - 1; i >= 0; i--) {
      if (i + 1 < n) {
        x.addRow(i, next[i].negated(), x, i + 1, 0);
      }
      if (i + 2 < n) {
        x.addRow(i, second[i].negated(), x, i + 2, 0);
      }
      x.scaleRow(i, pivot[i].reciprocal());
    }
    return x;
  }

  /** The product of the matrix with these diagonals, each of a row, and {@code b}. */
  public static DenseMatrix multiply(
      DenseMatrix above, DenseMatrix main, DenseMatrix below, DenseMatrix b) {
    DenseMatrix x = new DenseMatrix(b.rows, b.columns, b.isComplex());
    for (int i = 0; i < b.rows; i++) {
      x.addRow(i, main.at(0, i), b, i, 0);
      if (i + 1 < b.rows) {
        x.addRow(i, above.at(0, i), b, i + 1, 0);
      }
      if (i > 0) {
        x.addRow(i, below.at(0, i), b, i - 1, 0);
      }
    }
    return x;
  }
}
