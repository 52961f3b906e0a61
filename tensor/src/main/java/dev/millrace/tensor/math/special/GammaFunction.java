package dev.millrace.tensor.math.special;

/** The logarithm of the gamma function and the derivative of that logarithm. */
public final class GammaFunction {
  /** Lanczos' approximation with g = 7 and these coefficients has a relative error below 1e-15. */
  private static final double G = 7;

  private static final double[] LANCZOS = {
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7
  };

  /** From here on the asymptotic series is exact to the last bits. */
  private static final double ASYMPTOTIC = 10;

  private GammaFunction() {}

  /** The logarithm of the size of the gamma function; infinite at 0, -1, -2 and so on. */
  public static double logGamma(double x) {
    if (Double.isNaN(x)) {
      return x;
    }
    if (Double.isInfinite(x)) {
      return Double.POSITIVE_INFINITY;
    }
    if (x < 0.5) {
      if (x <= 0 && x == Math.floor(x)) {
        return Double.POSITIVE_INFINITY;
      }
      // The fraction alone decides the sine, whose argument would lose bits where x is large.
      double fraction = x - 2 * Math.floor(x / 2);
      return Math.log(Math.PI / Math.abs(Math.sin(Math.PI * fraction))) - logGamma(1 - x);
    }
    if (x >= ASYMPTOTIC) {
      double r = 1 / (x * x);
      double tail = 1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680 - r / 1188)));
      return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + tail / x;
    }
    double sum = LANCZOS[0];
    for (int i = 1; i < LANCZOS.length; i++) {
      sum += LANCZOS[i] / (x - 1 + i);
    }
    double t = x + G - 0.5;
    return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
  }

  /** The derivative of {@link #logGamma}; NaN at 0, -1, -2 and so on. */
  public static double digamma(double x) {
    if (x <= 0) {
      double whole = Math.floor(x);
      if (x == whole) {
        return Double.NaN;
      }
      double fraction = x - whole;
      double reflected = fraction == 0.5 ? 0 : Math.PI / Math.tan(Math.PI * fraction);
      return digamma(1 - x) - reflected;
    }
    double shift = 0;
    double y = x;
    while (y < ASYMPTOTIC) {
      shift += 1 / y;
      y++;
    }
    double r = 1 / (y * y);
    double tail =
        r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r * (1.0 / 132)))));
    return Math.log(y) - 0.5 / y - tail - shift;
  }
}
