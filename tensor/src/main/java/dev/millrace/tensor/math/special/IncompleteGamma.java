package dev.millrace.tensor.math.special;

/**
 * The regularized incomplete gamma functions and the derivative by their first argument: a series
 * where x is small against a, and the continued fraction of the complement elsewhere.
 */
public final class IncompleteGamma {
  private static final double EPSILON = 1e-17;
  private static final double TINY = 1e-300;

  /** Terms after which a sum is taken as it is; the slowest need about the square root of a. */
  private static final int MAX_TERMS = 20_000;

  private IncompleteGamma() {}

  /**
   * The lower function P(a, x), which rises from 0 to 1; NaN unless a is above 0 and x is not
   * below.
   */
  public static double lower(double a, double x) {
    double known = atEnd(a, x);
    return known >= 0 || Double.isNaN(known)
        ? known
        : isSeries(a, x) ? series(a, x) : 1 - fraction(a, x);
  }

  /** The upper function {@code 1 - P(a, x)}. */
  public static double upper(double a, double x) {
    double known = atEnd(a, x);
    if (known == 0 && !(a > 0)) {
      return Double.NaN;
    }
    return known >= 0 || Double.isNaN(known)
        ? 1 - known
        : isSeries(a, x) ? 1 - series(a, x) : fraction(a, x);
  }

  /** The derivative of {@link #lower} by a. */
  public static double lowerByA(double a, double x) {
    double known = atEnd(a, x);
    if (known >= 0) {
      return 0;
    }
    return Double.isNaN(known) ? known : isSeries(a, x) ? seriesByA(a, x) : -fractionByA(a, x);
  }

  /**
   * The derivative of a sample of the gamma distribution by its shape a, at the sample x: how far
   * the quantile moves.
   */
  public static double sampleByA(double a, double x) {
    if (x == 0) {
      return 0;
    }
    double density = Math.exp((a - 1) * Math.log(x) - x - GammaFunction.logGamma(a));
    return -lowerByA(a, x) / density;
  }

  /** P at the ends of its domain, NaN outside of it, -1 in between. */
  private static double atEnd(double a, double x) {
    if (x == 0) {
      return 0;
    }
    if (Double.isNaN(a) || Double.isNaN(x) || a <= 0 || x < 0) {
      return Double.NaN;
    }
    if (Double.isInfinite(a)) {
      return Double.isInfinite(x) ? Double.NaN : 0;
    }
    return Double.isInfinite(x) ? 1 : -1;
  }

  private static boolean isSeries(double a, double x) {
    return x <= 1 || x <= a;
  }

  /** x^a e^-x / gamma(a). */
  private static double front(double a, double x) {
    return Math.exp(logFront(a, x));
  }

  private static double logFront(double a, double x) {
    if (a < 30) {
      return a * Math.log(x) - x - GammaFunction.logGamma(a);
    }
    // The large parts cancel: by Stirling what is left is a (1 + log u - u) with u = x / a.
    double d = (x - a) / a;
    double cancelled = Math.abs(d) < 0.2 ? log1pMinus(d) : Math.log1p(d) - d;
    double r = 1 / (a * a);
    double tail = (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r / 1680))) / a;
    return a * cancelled + 0.5 * Math.log(a / (2 * Math.PI)) - tail;
  }

  /** log(1 + d) - d by its series. */
  private static double log1pMinus(double d) {
    double power = d;
    double sum = 0;
    for (int n = 2; n < 60 && Math.abs(power) > 1e-18 * Math.abs(d); n++) {
      power *= -d;
      sum += power / n;
    }
    return sum;
  }

  private static double series(double a, double x) {
    double term = 1 / a;
    double sum = term;
    for (int n = 1; n < MAX_TERMS && term > EPSILON * sum; n++) {
      term *= x / (a + n);
      sum += term;
    }
    return front(a, x) * sum;
  }

  /** Each term of the series times the derivative of its logarithm. */
  private static double seriesByA(double a, double x) {
    double term = 1 / a;
    double slope = Math.log(x) - GammaFunction.digamma(a + 1);
    double sum = term * slope;
    for (int n = 1; n < MAX_TERMS; n++) {
      term *= x / (a + n);
      slope -= 1 / (a + n);
      double add = term * slope;
      sum += add;
      if (Math.abs(add) <= EPSILON * Math.abs(sum) && n > x - a) {
        break;
      }
    }
    return front(a, x) * sum;
  }

  /** The continued fraction of the upper function by Lentz' method. */
  private static double fraction(double a, double x) {
    double b = x + 1 - a;
    double c = 1 / TINY;
    double d = 1 / b;
    double f = d;
    for (int n = 1; n < MAX_TERMS; n++) {
      double an = -n * (n - a);
      b += 2;
      d = 1 / guarded(an * d + b);
      c = guarded(b + an / c);
      double step = c * d;
      f *= step;
      if (Math.abs(step - 1) < 1e-16) {
        break;
      }
    }
    return front(a, x) * f;
  }

  /** The same with the derivative of each quantity by a beside it. */
  private static double fractionByA(double a, double x) {
    double b = x + 1 - a;
    double c = 1 / TINY;
    double cSlope = 0;
    double d = 1 / b;
    double dSlope = d * d;
    double f = d;
    double fSlope = dSlope;
    for (int n = 1; n < MAX_TERMS; n++) {
      double an = -n * (n - a);
      b += 2;
      double below = guarded(an * d + b);
      double belowSlope = n * d + an * dSlope - 1;
      d = 1 / below;
      dSlope = -belowSlope * d * d;
      double next = guarded(b + an / c);
      cSlope = -1 + n / c - an * cSlope / (c * c);
      c = next;
      double step = c * d;
      double stepSlope = cSlope * d + c * dSlope;
      fSlope = fSlope * step + f * stepSlope;
      f *= step;
      if (Math.abs(step - 1) < 1e-16 && Math.abs(f * stepSlope) <= 1e-16 * Math.abs(fSlope)) {
        break;
      }
    }
    double slope = Math.log(x) - GammaFunction.digamma(a);
    return front(a, x) * (fSlope + f * slope);
  }

  private static double guarded(double v) {
    return Math.abs(v) < TINY ? TINY : v;
  }
}
