package dev.millrace.ops.random;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.random.Philox;
import dev.millrace.tensor.math.random.RandomFill;

/**
 * Draws normal numbers between two bounds by rejection (Robert, "Simulation of truncated normal
 * variables", 1995). What is proposed depends on where the bounds lie: normal numbers if they leave
 * enough of them, uniform ones if they are close together, else exponential ones for the tail.
 */
final class TruncatedSampler {
  private static final int MAX_TRIES = 1000;

  /** If a bound is this many deviations beyond the mean, few normal numbers are rejected. */
  private static final double ENOUGH = 1.3;

  private final Philox.Cursor random;
  private final Tensor out;

  /** Numbers that one draw gives. */
  private final int size;

  private final double[] draw;
  private final int[] bits = new int[4];
  private int tries;

  TruncatedSampler(Philox.Cursor random, Tensor out) {
    this.random = random;
    this.out = out;
    this.size = out.dtype() == DType.DOUBLE ? 2 : 4;
    this.draw = new double[size];
  }

  /** Sets elements {@code from} to {@code to} of the tensor. */
  void fill(long from, long to, double mean, double deviation, double min, double max) {
    boolean valid = deviation > 0 && min < max && (Double.isFinite(min) || Double.isFinite(max));
    if (!valid) {
      throw MillraceException.invalid(
          "Invalid parameters: need stdev > 0 and minval < maxval, one of them finite; got stdev"
              + " %s, minval %s, maxval %s.",
          deviation, min, max);
    }
    // With one bound, or both on the same side, look from that side.
    boolean flip = min == Double.NEGATIVE_INFINITY || max < mean;
    double scale = flip ? -deviation : deviation;
    double low = ((flip ? max : min) - mean) / scale;
    double high = ((flip ? min : max) - mean) / scale;
    double root = Math.sqrt(low * low + 4);
    double cutoff = 2 * Math.exp(0.5 + low * (low - root) / 4) / (low + root);
    tries = 0;
    long i = from;
    while (i < to) {
      if ((low < -ENOUGH && high >= 0) || (high > ENOUGH && low <= 0)) {
        i = normal(i, to, low, high, mean, scale);
      } else if (high - low < cutoff) {
        i = uniform(i, to, low, high, mean, scale);
      } else {
        i = exponential(i, to, low, high, (low + root) / 2, mean, scale);
      }
    }
  }

  private boolean accept(long i, boolean accepted, double z, double mean, double scale) {
    if (accepted || tries + 1 >= MAX_TRIES) {
      out.setDouble(i, z * scale + mean);
      tries = 0;
      return true;
    }
    tries++;
    return false;
  }

  private long normal(long i, long to, double low, double high, double mean, double scale) {
    random.nextFour(bits);
    for (int k = 0; k < size && i < to; k++) {
      double z = RandomFill.normalOf(out.dtype(), bits, k);
      if (accept(i, z >= low && z <= high, z, mean, scale)) {
        i++;
      }
    }
    return i;
  }

  private long uniform(long i, long to, double low, double high, double mean, double scale) {
    drawUniform();
    double[] z = draw.clone();
    drawUniform();
    double plus = low < 0 ? 0 : low * low;
    for (int k = 0; k < size && i < to; k++) {
      double v = z[k] * (high - low) + low;
      if (accept(i, draw[k] <= Math.exp((plus - v * v) / 2), v, mean, scale)) {
        i++;
      }
    }
    return i;
  }

  private long exponential(
      long i, long to, double low, double high, double alpha, double mean, double scale) {
    drawUniform();
    for (int k = 0; k < size && i < to; k += 2) {
      double z = -Math.log(draw[k]) / alpha + low;
      double x = low < alpha ? alpha - z : low - alpha;
      if (accept(i, draw[k + 1] <= Math.exp(-x * x / 2) && z < high, z, mean, scale)) {
        i++;
      }
    }
    return i;
  }

  private void drawUniform() {
    random.nextFour(bits);
    for (int k = 0; k < size; k++) {
      draw[k] = RandomFill.uniformOf(out.dtype(), bits, k);
    }
  }
}
