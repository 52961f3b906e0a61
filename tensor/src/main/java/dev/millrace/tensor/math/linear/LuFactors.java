package dev.millrace.tensor.math.linear;

import dev.millrace.tensor.math.complex.Complex;

/**
 * The factors of a square matrix by Gauss' elimination with the largest pivot of each column:
 * {@code a[order[i]] = (L U)[i]}.
 *
 * @param packed U on and above the diagonal, L below, whose diagonal is all ones
 * @param order which row of the matrix each row of the product is
 * @param isOdd whether the order is made by an odd number of exchanges
 */
public record LuFactors(DenseMatrix packed, int[] order, boolean isOdd) {
  /** Factors {@code a}, which is left as it is. */
  public static LuFactors of(DenseMatrix a) {
    int n = a.rows;
    DenseMatrix m = a.copy();
    int[] order = new int[n];
    for (int i = 0; i < n; i++) {
      order[i] = i;
    }
    boolean isOdd = false;
    for (int k = 0; k < n; k++) {
      int pivot = k;
      for (int r = k + 1; r < n; r++) {
        if (m.at(r, k).abs() > m.at(pivot, k).abs()) {
          pivot = r;
        }
      }
      if (pivot != k) {
        m.swapRows(k, pivot);
        int row = order[k];
        order[k] = order[pivot];
        order[pivot] = row;
        isOdd = !isOdd;
      }
      if (m.at(k, k).isZero()) {
        continue;
      }
      for (int r = k + 1; r < n; r++) {
        Complex factor = m.at(r, k).over(m.at(k, k));
        m.addRow(r, factor.negated(), m, k, k + 1);
        m.set(r, k, factor);
      }
    }
    return new LuFactors(m, order, isOdd);
  }

  /** Whether the matrix has no inverse, as far as rounding shows it. */
  public boolean isSingular() {
    return Triangular.isSingular(packed);
  }

  /** The solution x of {@code a x = b}. */
  public DenseMatrix solve(DenseMatrix b) {
    DenseMatrix x = new DenseMatrix(b.rows, b.columns, b.isComplex());
    for (int r = 0; r < b.rows; r++) {
      x.addRow(r, Complex.ONE, b, order[r], 0);
    }
    DenseMatrix unit = packed.copy();
    for (int i = 0; i < unit.rows; i++) {
      unit.set(i, i, Complex.ONE);
    }
    return Triangular.solve(packed, false, Triangular.solve(unit, true, x));
  }

  /** The inverse of the matrix. */
  public DenseMatrix inverse() {
    return solve(DenseMatrix.identity(packed.rows, packed.rows, packed.isComplex()));
  }

  /** The direction of the determinant: a number of size 1, or 0. */
  public Complex sign() {
    Complex sign = isOdd ? Complex.ONE.negated() : Complex.ONE;
    for (int i = 0; i < packed.rows; i++) {
      sign = sign.times(packed.at(i, i).sign());
    }
    return sign;
  }

  /** The logarithm of the size of the determinant. */
  public double logSize() {
    double log = 0;
    for (int i = 0; i < packed.rows; i++) {
      log += Math.log(packed.at(i, i).abs());
    }
    return log;
  }

  /** The determinant. */
  public Complex determinant() {
    Complex product = isOdd ? Complex.ONE.negated() : Complex.ONE;
    for (int i = 0; i < packed.rows; i++) {
      product = product.times(packed.at(i, i));
    }
    return product;
  }
}
