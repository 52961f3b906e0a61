package dev.millrace.tensor.math.linear;

import dev.millrace.tensor.math.complex.Complex;

/** Solutions of systems with more or fewer equations than unknowns. */
public final class LeastSquares {
  /** Singular values below the largest times this and the size of the matrix count as 0. */
  private static final double EPSILON = Math.ulp(1.0);

  private LeastSquares() {}

  /**
   * The x with the least {@code |a x - b|^2 + l2 |x|^2} by the normal equations, or the shortest
   * solution if there are fewer equations than unknowns. Null if these are singular.
   */
  public static DenseMatrix normal(DenseMatrix a, DenseMatrix b, double l2) {
    DenseMatrix adjoint = a.adjoint();
    boolean isTall = a.rows >= a.columns;
    DenseMatrix product = isTall ? adjoint.times(a) : a.times(adjoint);
    for (int i = 0; i < product.rows; i++) {
      product.set(i, i, product.at(i, i).plus(new Complex(l2, 0)));
    }
    DenseMatrix l = Triangular.cholesky(product);
    if (l == null) {
      return null;
    }
    DenseMatrix y = Triangular.solve(l, true, isTall ? adjoint.times(b) : b);
    DenseMatrix x = Triangular.solve(l.adjoint(), false, y);
    return isTall ? x : adjoint.times(x);
  }

  /** The shortest x with the least {@code |a x - b|}, also of matrices without full rank. */
  public static DenseMatrix shortest(DenseMatrix a, DenseMatrix b) {
    SingularValues s = SingularValues.of(a, false);
    DenseMatrix x = s.u().adjoint().times(b);
    double largest = s.values().length == 0 ? 0 : s.values()[0];
    double least = largest * EPSILON * Math.max(a.rows, a.columns);
    for (int i = 0; i < s.values().length; i++) {
      double v = s.values()[i];
      x.scaleRow(i, new Complex(v > least ? 1 / v : 0, 0));
    }
    return s.v().times(x);
  }
}
