package dev.millrace.tensor.math.complex;

/** A block of complex numbers of some dimensions, which is transformed along all of them. */
public final class FourierBlock {
  private final int[] dims;
  private final Fourier[] along;
  private final double[] re;
  private final double[] im;

  /** A block of these dimensions, all zero. */
  public FourierBlock(int... dims) {
    this.dims = dims.clone();
    along = new Fourier[dims.length];
    int n = 1;
    for (int i = 0; i < dims.length; i++) {
      along[i] = Fourier.of(dims[i]);
      n = Math.multiplyExact(n, dims[i]);
    }
    re = new double[n];
    im = new double[n];
  }

  /** How many numbers there are. */
  public int size() {
    return re.length;
  }

  /** Number {@code i} in row-major order. */
  public Complex get(int i) {
    return new Complex(re[i], im[i]);
  }

  /** Sets number {@code i} in row-major order. */
  public void set(int i, Complex v) {
    re[i] = v.re();
    im[i] = v.im();
  }

  /** Transforms along all dimensions. */
  public void forward() {
    transform(0, dims.length, true);
  }

  /** Transforms back along all dimensions and divides by the number of elements. */
  public void backward() {
    transform(0, dims.length, false);
  }

  /**
   * Transforms back what {@link #forward} makes of real numbers, of which only the first half of
   * each row, up to the middle, is read: the rest follows from it.
   */
  public void backwardToReal() {
    int last = dims.length - 1;
    transform(0, last, false);
    int n = dims[last];
    for (int row = 0; row < re.length; row += n) {
      // A row of real numbers has a real sum, and real sums of alternating signs.
      im[row] = 0;
      for (int k = 1; k <= n - k; k++) {
        im[row + k] = k == n - k ? 0 : im[row + k];
        re[row + n - k] = re[row + k];
        im[row + n - k] = k == n - k ? 0 : -im[row + k];
      }
    }
    transform(last, last + 1, false);
  }

  private void transform(int from, int to, boolean forward) {
    int inner = re.length;
    for (int axis = 0; axis < to && inner > 0; axis++) {
      inner /= dims[axis];
      if (axis >= from) {
        lines(axis, inner, forward);
      }
    }
  }

  private void lines(int axis, int step, boolean forward) {
    int n = dims[axis];
    double[] a = new double[n];
    double[] b = new double[n];
    double scale = forward ? 1 : 1.0 / n;
    for (int line = 0; line < re.length / n; line++) {
      int start = line / step * n * step + line % step;
      for (int k = 0; k < n; k++) {
        a[k] = re[start + k * step];
        b[k] = im[start + k * step];
      }
      if (forward) {
        along[axis].forward(a, b);
      } else {
        along[axis].backward(a, b);
      }
      for (int k = 0; k < n; k++) {
        re[start + k * step] = a[k] * scale;
        im[start + k * step] = b[k] * scale;
      }
    }
  }
}
