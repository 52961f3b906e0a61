package dev.millrace.tensor.math.random;

import dev.millrace.tensor.math.special.GammaFunction;

/**
 * A number of a Poisson distribution, from the numbers that TensorFlow takes for it: a product of
 * uniform numbers for small rates (Knuth), transformed rejection for others (Hörmann, "The
 * transformed rejection method for generating Poisson random variables", 1993).
 */
public final class PoissonDraw {
  private static final double SMALL = 10;

  private PoissonDraw() {}

  /** The number of this rate that a sequence gives; 0 for one below 0, no number for none. */
  public static double from(Philox source, double rate) {
    if (!Double.isFinite(rate)) {
      return Double.NaN;
    }
    DoublePairs numbers = new DoublePairs(source);
    return rate < SMALL ? byProduct(numbers, rate) : byRejection(numbers, rate);
  }

  private static double byProduct(DoublePairs numbers, double rate) {
    double limit = Math.exp(-rate);
    double product = numbers.nextUniform();
    double n = 0;
    while (product > limit) {
      product *= numbers.nextUniform();
      n++;
    }
    return n;
  }

  private static double byRejection(DoublePairs numbers, double rate) {
    double logRate = Math.log(rate);
    double b = 0.931 + 2.53 * Math.sqrt(rate);
    double a = -0.059 + 0.02483 * b;
    double inverseAlpha = 1.1239 + 1.1328 / (b - 3.4);
    while (true) {
      double u = numbers.nextUniform() - 0.5;
      double v = numbers.nextUniform();
      double distance = 0.5 - Math.abs(u);
      double k = Math.floor((2 * a / distance + b) * u + rate + 0.43);
      if (distance >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) {
        return k;
      }
      if (k < 0 || (distance < 0.013 && v > distance)) {
        continue;
      }
      double s = Math.log(v * inverseAlpha / (a / (distance * distance) + b));
      double t = -rate + k * logRate - GammaFunction.logGamma(k + 1);
      if (s <= t) {
        return k;
      }
    }
  }
}
