package dev.millrace.tensor.math.random;

/**
 * A number of a gamma distribution of scale 1, by Marsaglia and Tsang ("A simple method for
 * generating gamma variables", 2000), from the numbers that TensorFlow takes for it.
 */
public final class GammaDraw {
  private GammaDraw() {}

  /** The number of shape {@code alpha} that a sequence gives. */
  public static double from(Philox source, double alpha) {
    DoublePairs numbers = new DoublePairs(source);
    if (alpha == 1) {
      return -Math.log1p(-numbers.nextUniform());
    }
    boolean isSmall = alpha < 1;
    double d = alpha + (isSmall ? 2.0 / 3 : -1.0 / 3);
    double c = 1.0 / 3 / Math.sqrt(d);
    if (!(d > 0)) {
      return Double.NaN;
    }
    while (true) {
      double x = numbers.nextNormal();
      double v = 1 + c * x;
      if (v <= 0) {
        continue;
      }
      v = v * v * v;
      double u = numbers.nextUniform();
      if (u < 1 - 0.0331 * (x * x) * (x * x)
          || Math.log(u) < 0.5 * x * x + d * (1 - v + Math.log(v))) {
        double drawn = d * v;
        return isSmall ? drawn * Math.pow(numbers.nextUniform(), 1 / alpha) : drawn;
      }
    }
  }
}
