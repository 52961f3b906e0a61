package dev.millrace.tensor.math.linear;

import dev.millrace.tensor.math.complex.Complex;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * The eigenvalues of a matrix that is its own adjoint, rising, and its eigenvectors, by Jacobi's
 * rotations.
 *
 * @param values the eigenvalues
 * @param vectors a column for each
 */
public record Eigenvalues(double[] values, DenseMatrix vectors) {
  private static final int MAX_SWEEPS = 60;

  /** Of the matrix whose lower triangle is that of {@code a}. */
  public static Eigenvalues of(DenseMatrix a) {
    int n = a.rows;
    DenseMatrix m = new DenseMatrix(n, n, a.isComplex());
    for (int r = 0; r < n; r++) {
      for (int c = 0; c <= r; c++) {
        Complex v = r == c ? new Complex(a.at(r, r).re(), 0) : a.at(r, c);
        m.set(r, c, v);
        m.set(c, r, v.conjugate());
      }
    }
    // Rows of this are the conjugates of the eigenvectors.
    DenseMatrix v = DenseMatrix.identity(n, n, a.isComplex());
    boolean turned = true;
    for (int sweep = 0; sweep < MAX_SWEEPS && turned; sweep++) {
      turned = false;
      for (int p = 0; p < n; p++) {
        for (int q = p + 1; q < n; q++) {
          turned |= clear(m, v, p, q);
        }
      }
    }
    int[] order =
        IntStream.range(0, n)
            .boxed()
            .sorted(Comparator.comparingDouble(i -> m.at(i, i).re()))
            .mapToInt(Integer::intValue)
            .toArray();
    double[] values = new double[n];
    DenseMatrix sorted = new DenseMatrix(n, n, a.isComplex());
    for (int i = 0; i < n; i++) {
      values[i] = m.at(order[i], order[i]).re();
      sorted.addRow(i, Complex.ONE, v, order[i], 0);
    }
    return new Eigenvalues(values, sorted.adjoint());
  }

  /**
   * Makes element (p, q) zero, unless rounding has made it so; whether there was something to do.
   */
  private static boolean clear(DenseMatrix m, DenseMatrix v, int p, int q) {
    Complex off = m.at(p, q);
    double size = off.abs();
    double a = m.at(p, p).re();
    double b = m.at(q, q).re();
    if (!(size > 1e-17 * (Math.abs(a) + Math.abs(b))) || size < Double.MIN_NORMAL) {
      return false;
    }
    double zeta = (b - a) / (2 * size);
    double tan = Math.copySign(1, zeta) / (Math.abs(zeta) + Math.hypot(1, zeta));
    double cos = 1 / Math.hypot(1, tan);
    double sin = cos * tan;
    Complex turn = off.times(1 / size);
    m.rotateRows(p, q, cos, sin, turn);
    rotateColumns(m, p, q, cos, sin, turn.conjugate());
    v.rotateRows(p, q, cos, sin, turn);
    m.set(p, q, Complex.ZERO);
    m.set(q, p, Complex.ZERO);
    m.set(p, p, new Complex(m.at(p, p).re(), 0));
    m.set(q, q, new Complex(m.at(q, q).re(), 0));
    return true;
  }

  private static void rotateColumns(
      DenseMatrix m, int p, int q, double cos, double sin, Complex turn) {
    for (int r = 0; r < m.rows; r++) {
      Complex x = m.at(r, p);
      Complex y = m.at(r, q).times(turn);
      m.set(r, p, x.times(cos).minus(y.times(sin)));
      m.set(r, q, x.times(sin).plus(y.times(cos)));
    }
  }
}
