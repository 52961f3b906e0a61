package dev.millrace.tensor.math.complex;

/**
 * The discrete Fourier transform of one length, in double precision. Powers of two are transformed
 * by halves; other lengths as a convolution of such a power (Bluestein), so that every length takes
 * about {@code n log n} steps.
 *
 * <p>Threading: immutable; any thread.
 */
public final class Fourier {
  private final int n;

  /** The roots of unity that a power of two needs, else the chirp {@code e^(-i pi k^2 / n)}. */
  private final double[] cos;

  private final double[] sin;

  /** For other lengths: the transform of the convolution, and that of the chirp it convolves. */
  private final Fourier longer;

  private final double[] chirpRe;
  private final double[] chirpIm;

  private Fourier(int n) {
    this.n = n;
    boolean isPower = Integer.bitCount(n) <= 1;
    int m = isPower ? n / 2 : n;
    cos = new double[m];
    sin = new double[m];
    for (int k = 0; k < m; k++) {
      // The square is taken modulo the period, as a large angle would lose its last digits.
      double angle = isPower ? -2 * Math.PI * k / n : -Math.PI * ((long) k * k % (2L * n)) / n;
      cos[k] = Math.cos(angle);
      sin[k] = Math.sin(angle);
    }
    if (isPower) {
      longer = null;
      chirpRe = null;
      chirpIm = null;
      return;
    }
    longer = of(Math.max(1, Integer.highestOneBit(2 * n - 1) << 1));
    chirpRe = new double[longer.n];
    chirpIm = new double[longer.n];
    for (int k = 0; k < n; k++) {
      chirpRe[k] = cos[k];
      chirpIm[k] = -sin[k];
      if (k > 0) {
        chirpRe[longer.n - k] = cos[k];
        chirpIm[longer.n - k] = -sin[k];
      }
    }
    longer.forward(chirpRe, chirpIm);
  }

  /** The transform of {@code n} numbers. */
  public static Fourier of(int n) {
    return new Fourier(n);
  }

  /** Transforms in place: element k becomes the sum of {@code x[j] e^(-2 pi i j k / n)}. */
  public void forward(double[] re, double[] im) {
    if (longer == null) {
      byHalves(re, im);
    } else {
      byConvolution(re, im);
    }
  }

  /** Transforms back in place, without dividing by the length. */
  public void backward(double[] re, double[] im) {
    forward(im, re);
  }

  private void byHalves(double[] re, double[] im) {
    for (int i = 1, j = 0; i < n; i++) {
      int bit = n >> 1;
      for (; (j & bit) != 0; bit >>= 1) {
        j ^= bit;
      }
      j ^= bit;
      if (i < j) {
        swap(re, i, j);
        swap(im, i, j);
      }
    }
    for (int size = 2; size <= n; size *= 2) {
      int half = size / 2;
      int step = n / size;
      for (int start = 0; start < n; start += size) {
        for (int k = 0; k < half; k++) {
          int a = start + k;
          int b = a + half;
          double c = cos[k * step];
          double s = sin[k * step];
          double x = re[b] * c - im[b] * s;
          double y = re[b] * s + im[b] * c;
          re[b] = re[a] - x;
          im[b] = im[a] - y;
          re[a] += x;
          im[a] += y;
        }
      }
    }
  }

  private void byConvolution(double[] re, double[] im) {
    double[] a = new double[longer.n];
    double[] b = new double[longer.n];
    for (int k = 0; k < n; k++) {
      a[k] = re[k] * cos[k] - im[k] * sin[k];
      b[k] = re[k] * sin[k] + im[k] * cos[k];
    }
    longer.forward(a, b);
    for (int k = 0; k < longer.n; k++) {
      double x = a[k] * chirpRe[k] - b[k] * chirpIm[k];
      b[k] = a[k] * chirpIm[k] + b[k] * chirpRe[k];
      a[k] = x;
    }
    longer.backward(a, b);
    for (int k = 0; k < n; k++) {
      re[k] = (a[k] * cos[k] - b[k] * sin[k]) / longer.n;
      im[k] = (a[k] * sin[k] + b[k] * cos[k]) / longer.n;
    }
  }

  private static void swap(double[] x, int i, int j) {
    double t = x[i];
    x[i] = x[j];
    x[j] = t;
  }
}
