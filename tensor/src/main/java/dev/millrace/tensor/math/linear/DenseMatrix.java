package dev.millrace.tensor.math.linear;

import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.complex.Complex;
import dev.millrace.tensor.math.complex.ComplexElements;

/**
 * A matrix by rows. All algorithms of this package are made of its operations on rows, so that they
 * serve real and complex matrices alike: a real one has no imaginary parts and skips the work on
 * them.
 *
 * <p>Threading: one thread at a time.
 */
public final class DenseMatrix {
  final int rows;
  final int columns;
  final double[] re;

  /** The imaginary parts; null of a real matrix. */
  final double[] im;

  DenseMatrix(int rows, int columns, boolean isComplex) {
    this.rows = rows;
    this.columns = columns;
    this.re = new double[Math.multiplyExact(rows, columns)];
    this.im = isComplex ? new double[re.length] : null;
  }

  /** A copy of matrix number {@code index} of a tensor, whose last two dimensions are these. */
  public static DenseMatrix of(Tensor t, long index, int rows, int columns) {
    DenseMatrix m = new DenseMatrix(rows, columns, t.dtype().isComplex());
    for (int i = 0; i < m.re.length; i++) {
      long at = index * m.re.length + i;
      if (m.im == null) {
        m.re[i] = t.doubleAt(at);
      } else {
        Complex v = ComplexElements.at(t.dtype(), t.data(), at);
        m.re[i] = v.re();
        m.im[i] = v.im();
      }
    }
    return m;
  }

  /** Writes this as matrix number {@code index} of a tensor of matrices of this size. */
  public void copyTo(Tensor t, long index) {
    for (int i = 0; i < re.length; i++) {
      long at = index * re.length + i;
      if (t.dtype().isComplex()) {
        ComplexElements.set(t.dtype(), t.data(), at, new Complex(re[i], im == null ? 0 : im[i]));
      } else {
        t.setDouble(at, re[i]);
      }
    }
  }

  static DenseMatrix identity(int rows, int columns, boolean isComplex) {
    DenseMatrix m = new DenseMatrix(rows, columns, isComplex);
    for (int i = 0; i < Math.min(rows, columns); i++) {
      m.re[i * columns + i] = 1;
    }
    return m;
  }

  public int rows() {
    return rows;
  }

  public int columns() {
    return columns;
  }

  boolean isComplex() {
    return im != null;
  }

  /** An element. */
  public Complex at(int row, int column) {
    int i = row * columns + column;
    return new Complex(re[i], im == null ? 0 : im[i]);
  }

  void set(int row, int column, Complex v) {
    int i = row * columns + column;
    re[i] = v.re();
    if (im != null) {
      im[i] = v.im();
    }
  }

  public DenseMatrix copy() {
    return part(rows, columns);
  }

  /** The first rows and columns, and zeros beyond those there are. */
  public DenseMatrix part(int toRows, int toColumns) {
    DenseMatrix m = new DenseMatrix(toRows, toColumns, isComplex());
    for (int r = 0; r < Math.min(rows, toRows); r++) {
      int n = Math.min(columns, toColumns);
      System.arraycopy(re, r * columns, m.re, r * toColumns, n);
      if (im != null) {
        System.arraycopy(im, r * columns, m.im, r * toColumns, n);
      }
    }
    return m;
  }

  /** The conjugate of the transpose. */
  public DenseMatrix adjoint() {
    int height = columns;
    int width = rows;
    DenseMatrix m = new DenseMatrix(height, width, isComplex());
    for (int r = 0; r < rows; r++) {
      for (int c = 0; c < columns; c++) {
        m.re[c * rows + r] = re[r * columns + c];
        if (im != null) {
          m.im[c * rows + r] = -im[r * columns + c];
        }
      }
    }
    return m;
  }

  /** {@code this * other}. */
  public DenseMatrix times(DenseMatrix other) {
    DenseMatrix m = new DenseMatrix(rows, other.columns, isComplex());
    for (int r = 0; r < rows; r++) {
      for (int k = 0; k < columns; k++) {
        m.addRow(r, at(r, k), other, k, 0);
      }
    }
    return m;
  }

  /** Adds {@code factor} times a row of {@code from} to a row, from column {@code first} on. */
  void addRow(int row, Complex factor, DenseMatrix from, int fromRow, int first) {
    int a = row * columns;
    int b = fromRow * columns;
    double fr = factor.re();
    double fi = factor.im();
    if (im == null) {
      for (int c = first; c < columns; c++) {
        re[a + c] += fr * from.re[b + c];
      }
      return;
    }
    for (int c = first; c < columns; c++) {
      double x = from.re[b + c];
      double y = from.im[b + c];
      re[a + c] += fr * x - fi * y;
      im[a + c] += fr * y + fi * x;
    }
  }

  void scaleRow(int row, Complex factor) {
    for (int c = 0; c < columns; c++) {
      set(row, c, at(row, c).times(factor));
    }
  }

  void divideRow(int row, Complex by) {
    for (int c = 0; c < columns; c++) {
      if (im == null) {
        re[row * columns + c] /= by.re();
      } else {
        set(row, c, at(row, c).over(by));
      }
    }
  }

  /** Whether all elements are finite. */
  public boolean isFinite() {
    double sum = 0;
    for (int i = 0; i < re.length; i++) {
      sum += re[i] * 0 + (im == null ? 0 : im[i] * 0);
    }
    return sum == 0;
  }

  /** A matrix of one number in every place. */
  public static DenseMatrix filled(int rows, int columns, double v) {
    DenseMatrix m = new DenseMatrix(rows, columns, false);
    java.util.Arrays.fill(m.re, v);
    return m;
  }

  void swapRows(int a, int b) {
    for (int c = 0; c < columns; c++) {
      Complex v = at(a, c);
      set(a, c, at(b, c));
      set(b, c, v);
    }
  }

  /** The sum of {@code conj(a) * b} over two rows. */
  Complex rowProduct(int a, int b) {
    int x = a * columns;
    int y = b * columns;
    double real = 0;
    double imaginary = 0;
    for (int c = 0; c < columns; c++) {
      real += re[x + c] * re[y + c];
    }
    if (im != null) {
      for (int c = 0; c < columns; c++) {
        real += im[x + c] * im[y + c];
        imaginary += re[x + c] * im[y + c] - im[x + c] * re[y + c];
      }
    }
    return new Complex(real, imaginary);
  }

  /**
   * Turns two rows in their plane: row p becomes {@code cos p - sin turn q} and row q {@code sin p
   * + cos turn q}, where turn has size 1.
   */
  void rotateRows(int p, int q, double cos, double sin, Complex turn) {
    int x = p * columns;
    int y = q * columns;
    if (im == null) {
      double sign = turn.re();
      for (int c = 0; c < columns; c++) {
        double a = re[x + c];
        double b = sign * re[y + c];
        re[x + c] = cos * a - sin * b;
        re[y + c] = sin * a + cos * b;
      }
      return;
    }
    double tr = turn.re();
    double ti = turn.im();
    for (int c = 0; c < columns; c++) {
      double ar = re[x + c];
      double ai = im[x + c];
      double br = tr * re[y + c] - ti * im[y + c];
      double bi = tr * im[y + c] + ti * re[y + c];
      re[x + c] = cos * ar - sin * br;
      im[x + c] = cos * ai - sin * bi;
      re[y + c] = sin * ar + cos * br;
      im[y + c] = sin * ai + cos * bi;
    }
  }
}
