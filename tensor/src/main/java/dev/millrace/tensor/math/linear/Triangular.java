package dev.millrace.tensor.math.linear;

import dev.millrace.tensor.math.complex.Complex;

/** Cholesky's factor, and systems of equations with a triangular matrix. */
public final class Triangular {
  private Triangular() {}

  /**
   * The lower factor L of {@code a = L L*}, of which the lower triangle is read; null if {@code a}
   * is not positive definite.
   */
  public static DenseMatrix cholesky(DenseMatrix a) {
    int n = a.rows;
    DenseMatrix l = new DenseMatrix(n, n, a.isComplex());
    for (int r = 0; r < n; r++) {
      for (int c = 0; c <= r; c++) {
        Complex v = a.at(r, c);
        for (int k = 0; k < c; k++) {
          v = v.minus(l.at(r, k).times(l.at(c, k).conjugate()));
        }
        if (c < r) {
          l.set(r, c, v.times(1 / l.at(c, c).re()));
        } else if (v.re() > 0) {
          l.set(r, r, new Complex(Math.sqrt(v.re()), 0));
        } else {
          return null;
        }
      }
    }
    return l;
  }

  /** Whether an element of the diagonal is 0 or no number. */
  public static boolean isSingular(DenseMatrix t) {
    for (int i = 0; i < t.rows; i++) {
      if (!(t.at(i, i).abs() > 0)) {
        return true;
      }
    }
    return false;
  }

  /**
   * The solution x of {@code t x = b}; only the lower or the upper triangle of {@code t} is read.
   */
  public static DenseMatrix solve(DenseMatrix t, boolean lower, DenseMatrix b) {
    DenseMatrix x = b.copy();
    int n = t.rows;
    for (int i = 0; i < n; i++) {
      int r = lower ? i : n - 1 - i;
      for (int k = lower ? 0 : r + 1; k < (lower ? r : n); k++) {
        x.addRow(r, t.at(r, k).negated(), x, k, 0);
      }
      x.divideRow(r, t.at(r, r));
    }
    return x;
  }
}
