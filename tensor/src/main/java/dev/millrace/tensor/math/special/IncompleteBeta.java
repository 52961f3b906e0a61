package dev.millrace.tensor.math.special;

/** The regularized incomplete beta function, by its continued fraction. */
public final class IncompleteBeta {
  private static final double TINY = 1e-300;
  private static final int MAX_TERMS = 20_000;

  private IncompleteBeta() {}

  /** I_x(a, b), which rises from 0 at x = 0 to 1 at x = 1; NaN outside, and unless a, b > 0. */
  public static double of(double a, double b, double x) {
    if (!(a > 0) || !(b > 0) || !(x >= 0) || !(x <= 1)) {
      return Double.NaN;
    }
    if (x == 0 || x == 1) {
      return x;
    }
    double log =
        GammaFunction.logGamma(a + b)
            - GammaFunction.logGamma(a)
            - GammaFunction.logGamma(b)
            + a * Math.log(x)
            + b * Math.log1p(-x);
    // The fraction converges fast below the mean, and its mirror image above.
    return x < (a + 1) / (a + b + 2)
        ? Math.exp(log) * fraction(a, b, x) / a
        : 1 - Math.exp(log) * fraction(b, a, 1 - x) / b;
  }

  private static double fraction(double a, double b, double x) {
    double c = 1;
    double d = 1 / guarded(1 - (a + b) * x / (a + 1));
    double f = d;
    for (int m = 1; m < MAX_TERMS; m++) {
      double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
      d = 1 / guarded(1 + even * d);
      c = guarded(1 + even / c);
      f *= d * c;
      double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
      d = 1 / guarded(1 + odd * d);
      c = guarded(1 + odd / c);
      f *= d * c;
      if (Math.abs(d * c - 1) < 1e-16) {
        break;
      }
    }
    return f;
  }

  private static double guarded(double v) {
    return Math.abs(v) < TINY ? TINY : v;
  }
}
