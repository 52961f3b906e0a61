package dev.millrace.tensor.math.linear;

import dev.millrace.tensor.math.complex.Complex;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * The singular values of a matrix, falling, and its singular vectors, by one-sided Jacobi
 * rotations: {@code a = u diag(values) v*}.
 *
 * @param values as many as the smaller of rows and columns
 * @param u the left vectors as columns
 * @param v the right vectors as columns
 */
public record SingularValues(double[] values, DenseMatrix u, DenseMatrix v) {
  private static final int MAX_SWEEPS = 60;

  /**
   * Of {@code a}, which is left as it is; with {@code full}, the vectors are completed to a basis.
   */
  public static SingularValues of(DenseMatrix a, boolean full) {
    if (a.rows < a.columns) {
      SingularValues s = of(a.adjoint(), full);
      return new SingularValues(s.values, s.v, s.u);
    }
    int n = a.columns;
    // Columns as rows: products and rotations then run along memory. Rows of w are conjugates.
    DenseMatrix w = a.adjoint();
    DenseMatrix v = DenseMatrix.identity(n, n, a.isComplex());
    boolean turned = true;
    for (int sweep = 0; sweep < MAX_SWEEPS && turned; sweep++) {
      turned = false;
      for (int p = 0; p < n; p++) {
        for (int q = p + 1; q < n; q++) {
          turned |= separate(w, v, p, q);
        }
      }
    }
    double[] sizes = new double[n];
    for (int i = 0; i < n; i++) {
      sizes[i] = Math.sqrt(w.rowProduct(i, i).re());
    }
    int[] order =
        IntStream.range(0, n)
            .boxed()
            .sorted(Comparator.comparingDouble(i -> -sizes[i]))
            .mapToInt(Integer::intValue)
            .toArray();
    double[] values = new double[n];
    DenseMatrix left = new DenseMatrix(n, a.rows, a.isComplex());
    DenseMatrix right = new DenseMatrix(n, n, a.isComplex());
    int rank = 0;
    for (int i = 0; i < n; i++) {
      values[i] = sizes[order[i]];
      right.addRow(i, Complex.ONE, v, order[i], 0);
      if (values[i] > 1e-200 && values[i] > 1e-15 * values[0]) {
        left.addRow(i, new Complex(1 / values[i], 0), w, order[i], 0);
        rank++;
      }
    }
    int wanted = full ? a.rows : n;
    return new SingularValues(values, completed(left.adjoint(), rank, wanted), right.adjoint());
  }

  /** Makes rows p and q orthogonal; whether they were not. */
  private static boolean separate(DenseMatrix w, DenseMatrix v, int p, int q) {
    Complex product = w.rowProduct(p, q);
    double a = w.rowProduct(p, p).re();
    double b = w.rowProduct(q, q).re();
    double size = product.abs();
    if (!(size > 2e-15 * Math.sqrt(a) * Math.sqrt(b)) || size < Double.MIN_NORMAL) {
      return false;
    }
    double zeta = (b - a) / (2 * size);
    double tan = Math.copySign(1, zeta) / (Math.abs(zeta) + Math.hypot(1, zeta));
    double cos = 1 / Math.hypot(1, tan);
    double sin = cos * tan;
    Complex turn = product.conjugate().times(1 / size);
    w.rotateRows(p, q, cos, sin, turn);
    v.rotateRows(p, q, cos, sin, turn);
    return true;
  }

  /** The first {@code rank} columns, and others that complete them to an orthonormal set. */
  private static DenseMatrix completed(DenseMatrix u, int rank, int wanted) {
    if (rank == wanted) {
      return u.part(u.rows, wanted);
    }
    DenseMatrix rest = QrFactors.of(u.part(u.rows, rank)).q();
    DenseMatrix all = u.part(u.rows, wanted);
    for (int r = 0; r < u.rows; r++) {
      for (int c = rank; c < wanted; c++) {
        all.set(r, c, rest.at(r, c));
      }
    }
    return all;
  }
}
