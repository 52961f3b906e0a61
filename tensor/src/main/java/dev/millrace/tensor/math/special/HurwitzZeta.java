package dev.millrace.tensor.math.special;

/** Hurwitz' zeta function, the sum of (n + q)^-x over all n from 0, and the polygamma functions. */
public final class HurwitzZeta {
  /** B(2k) / (2k)!, the factors of the Euler-Maclaurin sum. */
  private static final double[] BERNOULLI = {
    1.0 / 12,
    -1.0 / 720,
    1.0 / 30240,
    -1.0 / 1209600,
    1.0 / 47900160,
    -691.0 / 1307674368000.0,
    1.0 / 74724249600.0,
    -3617.0 / 10670622842880000.0
  };

  /** Terms that are added one by one before the rest is taken as an integral. */
  private static final int TERMS = 12;

  private HurwitzZeta() {}

  /** Zeta of x with the offset q; infinite where x is 1, NaN below. */
  public static double of(double x, double q) {
    if (x == 1) {
      return Double.POSITIVE_INFINITY;
    }
    if (x < 1 || Double.isNaN(x) || Double.isNaN(q)) {
      return Double.NaN;
    }
    if (q == Double.POSITIVE_INFINITY) {
      return 0;
    }
    if (q <= 0) {
      if (q == Math.floor(q)) {
        return x == Math.floor(x) && x % 2 == 0 ? Double.POSITIVE_INFINITY : Double.NaN;
      }
      if (x != Math.floor(x)) {
        return Double.NaN;
      }
    }
    double sum = 0;
    double a = q;
    for (int n = 0; n < TERMS || a <= TERMS; n++) {
      double term = Math.pow(a, -x);
      sum += term;
      if (a > 0 && term < 1e-17 * sum) {
        return sum;
      }
      a++;
    }
    double power = Math.pow(a, -x);
    sum += power * a / (x - 1) + power / 2;
    double factor = x;
    double scale = power / a;
    for (int k = 0; k < BERNOULLI.length; k++) {
      sum += BERNOULLI[k] * factor * scale;
      factor *= (x + 2 * k + 1) * (x + 2 * k + 2);
      scale /= a * a;
    }
    return sum;
  }

  /**
   * The derivative of order {@code n} of the digamma function; NaN unless n is 0, 1, 2 and so on.
   */
  public static double polygamma(double n, double x) {
    if (n < 0 || n != Math.floor(n)) {
      return Double.NaN;
    }
    if (n == 0) {
      return GammaFunction.digamma(x);
    }
    double size = Math.exp(GammaFunction.logGamma(n + 1)) * of(n + 1, x);
    return n % 2 == 1 ? size : -size;
  }
}
