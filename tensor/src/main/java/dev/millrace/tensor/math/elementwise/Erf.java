package dev.millrace.tensor.math.elementwise;

/**
 * The error function, to a few units in the last place of a double. Below 2 by its series with only
 * positive terms, from there on by the continued fraction of its complement.
 */
public final class Erf {
  private static final double TWO_BY_SQRT_PI = 2 / Math.sqrt(Math.PI);
  private static final double SWITCH = 2;
  private static final int FRACTION_TERMS = 60;

  private Erf() {}

  /** The integral of the bell curve from 0 to x, which goes from -1 to 1. */
  public static double erf(double x) {
    double size = Math.abs(x);
    return size < SWITCH ? series(x) : Math.copySign(1 - fraction(size), x);
  }

  /** {@code 1 - erf(x)}, exact where that is small. */
  public static double erfc(double x) {
    if (x >= SWITCH) {
      return fraction(x);
    }
    return x > -SWITCH ? 1 - series(x) : 2 - fraction(-x);
  }

  private static double series(double x) {
    double term = 1;
    double sum = 1;
    for (int n = 1; term > 1e-17 * sum; n++) {
      term *= 2 * x * x / (2 * n + 1);
      sum += term;
    }
    return TWO_BY_SQRT_PI * x * Math.exp(-x * x) * sum;
  }

  private static double fraction(double x) {
    if (Double.isInfinite(x)) {
      return 0;
    }
    double f = x;
    for (int k = FRACTION_TERMS; k > 0; k--) {
      f = x + 0.5 * k / f;
    }
    return 0.5 * TWO_BY_SQRT_PI * Math.exp(-x * x) / f;
  }
}
