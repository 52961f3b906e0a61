package dev.millrace.tensor.math.special;

import java.util.function.DoubleUnaryOperator;

/**
 * Bessel functions of order 0 and 1 by their integrals, and by Hankel's expansion where the
 * argument is large.
 */
public final class Bessel {
  /** From here on Hankel's expansion is exact to the last bits. */
  private static final double LARGE = 40;

  /** Points and weights of Gauss' quadrature of order 16 on [-1, 1]; they are symmetric. */
  private static final double[] POINTS = {
    0.0950125098376374402, 0.2816035507792589132, 0.4580167776572273863, 0.6178762444026437484,
    0.7554044083550030339, 0.8656312023878317439, 0.9445750230732325761, 0.9894009349916499326
  };

  private static final double[] WEIGHTS = {
    0.1894506104550684963, 0.1826034150449235889, 0.1691565193950025382, 0.1495959888165767321,
    0.1246289712555338720, 0.0951585116824927848, 0.0622535239386478929, 0.0271524594117540949
  };

  private Bessel() {}

  /** The modified function of the first kind times {@code e^-|x|}. */
  public static double scaledI(int order, double x) {
    double size = Math.abs(x);
    double sign = order == 1 && x < 0 ? -1 : 1;
    if (size > LARGE) {
      return sign * expansion(order, size, -1) / Math.sqrt(2 * Math.PI * size);
    }
    double sum =
        integral(
            t -> Math.exp(size * (Math.cos(t) - 1)) * (order == 0 ? 1 : Math.cos(t)),
            0,
            Math.PI,
            8);
    return sign * (order == 1 && size == 0 ? 0 : sum / Math.PI);
  }

  /** The modified function of the first kind; NaN of infinities, as TensorFlow has it. */
  public static double i(int order, double x) {
    double scaled = scaledI(order, x);
    double size = Math.abs(x);
    // In halves, as the exponential overflows before the product does.
    return Double.isInfinite(x) ? Double.NaN : scaled * Math.exp(size / 2) * Math.exp(size / 2);
  }

  /** The modified function of the second kind times {@code e^x}; infinite from 0 down. */
  public static double scaledK(int order, double x) {
    if (!(x > 0)) {
      return x <= 0 ? Double.POSITIVE_INFINITY : Double.NaN;
    }
    if (x > LARGE) {
      return Double.isInfinite(x) ? 0 : expansion(order, x, 1) * Math.sqrt(Math.PI / (2 * x));
    }
    // With cosh t - 1 = u the integrand falls like e^(-x u).
    double end = Math.log1p(2 * (750 / x)) + 1;
    return integral(
        t -> {
          double half = Math.sinh(t / 2);
          return Math.exp(-2 * x * half * half) * (order == 0 ? 1 : Math.cosh(t));
        },
        0,
        end,
        (int) (8 + 2 * end));
  }

  /** The modified function of the second kind; infinite from 0 down. */
  public static double k(int order, double x) {
    return x > 0 ? scaledK(order, x) * Math.exp(-x) : scaledK(order, x);
  }

  /** The function of the first kind. */
  public static double j(int order, double x) {
    double size = Math.abs(x);
    double sign = order == 1 && x < 0 ? -1 : 1;
    if (Double.isInfinite(x)) {
      return Double.NaN;
    }
    if (size > LARGE) {
      double[] waves = waves(order, size);
      double phase = size - (2 * order + 1) * Math.PI / 4;
      double wave = waves[0] * Math.cos(phase) - waves[1] * Math.sin(phase);
      return sign * Math.sqrt(2 / (Math.PI * size)) * wave;
    }
    return sign * integral(t -> Math.cos(order * t - size * Math.sin(t)), 0, Math.PI, 12) / Math.PI;
  }

  /** The function of the second kind; infinite from 0 down. */
  public static double y(int order, double x) {
    if (!(x > 0)) {
      return x <= 0 ? Double.NEGATIVE_INFINITY : Double.NaN;
    }
    if (Double.isInfinite(x)) {
      return Double.NaN;
    }
    if (x > LARGE) {
      double[] waves = waves(order, x);
      double phase = x - (2 * order + 1) * Math.PI / 4;
      double wave = waves[0] * Math.sin(phase) + waves[1] * Math.cos(phase);
      return Math.sqrt(2 / (Math.PI * x)) * wave;
    }
    double turning = integral(t -> Math.sin(x * Math.sin(t) - order * t), 0, Math.PI, 12);
    double end = Math.log(2 * (750 / x + 1));
    double falling =
        integral(
            t -> (order == 0 ? 2 : Math.exp(t) - Math.exp(-t)) * Math.exp(-x * Math.sinh(t)),
            0,
            end,
            (int) (12 + 4 * end));
    return (turning - falling) / Math.PI;
  }

  /** Hankel's sum for the modified functions: all terms positive but for their signs. */
  private static double expansion(int order, double x, int sign) {
    double term = 1;
    double sum = 1;
    for (int n = 1; n < 30; n++) {
      double odd = 2 * n - 1;
      term *= sign * (4.0 * order * order - odd * odd) / (8 * n * x);
      sum += term;
      if (Math.abs(term) < 1e-17) {
        break;
      }
    }
    return sum;
  }

  /** The even and the odd terms of Hankel's sum with alternating signs. */
  private static double[] waves(int order, double x) {
    double term = 1;
    double[] sums = {1, 0};
    for (int n = 1; n < 30; n++) {
      double odd = 2 * n - 1;
      term *= (4.0 * order * order - odd * odd) / (8 * n * x);
      sums[n % 2] += n % 4 < 2 ? term : -term;
      if (Math.abs(term) < 1e-17) {
        break;
      }
    }
    return sums;
  }

  private static double integral(DoubleUnaryOperator f, double from, double to, int pieces) {
    double half = (to - from) / pieces / 2;
    double sum = 0;
    for (int p = 0; p < pieces; p++) {
      double middle = from + (2 * p + 1) * half;
      for (int i = 0; i < POINTS.length; i++) {
        double off = half * POINTS[i];
        sum += WEIGHTS[i] * (f.applyAsDouble(middle - off) + f.applyAsDouble(middle + off));
      }
    }
    return sum * half;
  }
}
