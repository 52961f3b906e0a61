package dev.millrace.tensor.math.linear;

import dev.millrace.tensor.math.complex.Complex;

/**
 * An orthogonal and an upper triangular factor by Householder's reflections: {@code a = q r}. Signs
 * are those of LAPACK and Eigen, where the diagonal of R has the opposite sign of what it replaces.
 *
 * @param q all columns, as many as rows
 * @param r as many rows as the matrix
 */
public record QrFactors(DenseMatrix q, DenseMatrix r) {
  /** Factors {@code a}, which is left as it is. */
  public static QrFactors of(DenseMatrix a) {
    int m = a.rows;
    DenseMatrix r = a.copy();
    int steps = Math.min(m, a.columns);
    Complex[][] vectors = new Complex[steps][];
    Complex[] factors = new Complex[steps];
    for (int k = 0; k < steps; k++) {
      Complex[] v = new Complex[m];
      factors[k] = reflection(r, k, v);
      vectors[k] = v;
      reflect(r, k, v, factors[k], k);
      for (int i = k + 1; i < m; i++) {
        r.set(i, k, Complex.ZERO);
      }
    }
    DenseMatrix q = DenseMatrix.identity(m, m, a.isComplex());
    for (int k = steps - 1; k >= 0; k--) {
      reflect(q, k, vectors[k], factors[k].conjugate(), 0);
    }
    return new QrFactors(q, r);
  }

  /**
   * Fills {@code v} from row k on, with 1 at k, so that {@code I - factor v v*} clears column k.
   */
  private static Complex reflection(DenseMatrix r, int k, Complex[] v) {
    double tail = 0;
    for (int i = k + 1; i < r.rows; i++) {
      Complex x = r.at(i, k);
      tail += x.re() * x.re() + x.im() * x.im();
      v[i] = Complex.ZERO;
    }
    Complex first = r.at(k, k);
    v[k] = Complex.ONE;
    if (tail <= Double.MIN_NORMAL && first.im() * first.im() <= Double.MIN_NORMAL) {
      return Complex.ZERO;
    }
    double size = Math.sqrt(first.re() * first.re() + first.im() * first.im() + tail);
    Complex beta = new Complex(first.re() >= 0 ? -size : size, 0);
    for (int i = k + 1; i < r.rows; i++) {
      v[i] = r.at(i, k).over(first.minus(beta));
    }
    return beta.minus(first).over(beta).conjugate();
  }

  /** {@code m -= factor v (v* m)} in the columns from {@code first} on. */
  private static void reflect(DenseMatrix m, int k, Complex[] v, Complex factor, int first) {
    if (factor.isZero()) {
      return;
    }
    DenseMatrix product = new DenseMatrix(1, m.columns, m.isComplex());
    for (int i = k; i < m.rows; i++) {
      product.addRow(0, v[i].conjugate(), m, i, first);
    }
    for (int i = k; i < m.rows; i++) {
      m.addRow(i, factor.times(v[i]).negated(), product, 0, first);
    }
  }
}
