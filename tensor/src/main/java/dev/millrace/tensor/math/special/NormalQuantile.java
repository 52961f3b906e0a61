package dev.millrace.tensor.math.special;

import dev.millrace.tensor.math.elementwise.Erf;

/** The inverses of the error function and of the normal distribution. */
public final class NormalQuantile {
  private static final double ROOT_PI = Math.sqrt(Math.PI);

  private NormalQuantile() {}

  /** The number whose error function is {@code y}. */
  public static double inverseErf(double y) {
    double size = Math.abs(y);
    if (size == 0) {
      return y;
    }
    if (!(size < 1)) {
      return size == 1 ? Math.copySign(Double.POSITIVE_INFINITY, y) : Double.NaN;
    }
    return Math.copySign(size < 0.5 ? refined(start(1 - size), size) : tail(1 - size), y);
  }

  /** The number below which a standard normal variable is with probability {@code p}. */
  public static double of(double p) {
    if (!(p > 0) || !(p < 1)) {
      return p == 0 ? Double.NEGATIVE_INFINITY : p == 1 ? Double.POSITIVE_INFINITY : Double.NaN;
    }
    double root = Math.sqrt(2);
    if (p < 0.25) {
      return -root * tail(2 * p);
    }
    return p > 0.75 ? root * tail(2 * (1 - p)) : root * inverseErf(2 * p - 1);
  }

  /** The number above 0 whose complement is {@code q}. */
  private static double tail(double q) {
    double x = start(q);
    for (int i = 0; i < 3; i++) {
      double error = Erf.erfc(x) - q;
      double u = error * ROOT_PI / 2 * Math.exp(x * x);
      x += u / (1 + x * u);
    }
    return x;
  }

  private static double refined(double start, double y) {
    double x = start;
    for (int i = 0; i < 3; i++) {
      double u = (Erf.erf(x) - y) * ROOT_PI / 2 * Math.exp(x * x);
      x -= u / (1 + x * u);
    }
    return x;
  }

  /** To a few thousandths, for Halley's method: a rational function of the tail's logarithm. */
  private static double start(double q) {
    double t = Math.sqrt(-2 * Math.log(q / 2));
    double below = 1 + t * (0.99229 + t * 0.04481);
    return Math.max(0, (t - (2.30753 + t * 0.27061) / below) / Math.sqrt(2));
  }
}
