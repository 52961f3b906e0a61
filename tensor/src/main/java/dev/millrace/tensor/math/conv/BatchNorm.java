package dev.millrace.tensor.math.conv;

import static dev.millrace.tensor.math.elementwise.Formula.input;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.elementwise.Recipe;
import dev.millrace.tensor.math.elementwise.Walk;
import dev.millrace.tensor.math.lanes.LaneType;
import dev.millrace.tensor.math.reduce.ChannelSum;

/**
 * Batch normalisation of floats: each channel is shifted and scaled by the mean and variance of the
 * batch, or by ones given. A tensor is seen as {@code [outer, channels, inner]}: inner is 1 where
 * channels come last. Statistics are vectors with an element per channel.
 */
public final class BatchNorm {
  private static final double[] NONE = {};

  /** Of x, mean, factor, offset. */
  private static final Recipe NORMALIZE =
      Recipe.map(4, input(0).minus(input(1)).times(input(2)).plus(input(3)));

  /** Of dy, x, mean, and the three numbers of a linear function. */
  private static final Recipe LINEAR =
      Recipe.map(
          6,
          input(0).times(input(3)).plus(input(1).minus(input(2)).times(input(4))).plus(input(5)));

  /** Of dy and a factor. */
  private static final Recipe SCALE = Recipe.map(2, input(0).times(input(1)));

  private final long outer;
  private final long channels;
  private final long inner;
  private final float epsilon;

  /** For tensors of this form. */
  public BatchNorm(long outer, long channels, long inner, float epsilon) {
    this.outer = outer;
    this.channels = channels;
    this.inner = inner;
    this.epsilon = epsilon;
  }

  /** Sets {@code mean} and {@code variance} (not corrected for the size of the sample) of x. */
  public void moments(Tensor x, Tensor mean, Tensor variance) {
    ChannelSum.run(x, mean, outer, channels, inner);
    divide(mean);
    ChannelSum.products(x, 1, x, mean, variance, outer, channels, inner);
    divide(variance);
  }

  private void divide(Tensor sums) {
    double n = (double) outer * inner;
    for (long c = 0; c < channels; c++) {
      sums.setDouble(c, sums.doubleAt(c) / n);
    }
  }

  /** {@code y = (x - mean) / sqrt(variance + epsilon) * scale + offset}; may work in place. */
  public void normalize(
      Tensor x, Tensor mean, Tensor variance, Tensor scale, Tensor offset, Tensor y) {
    Tensor factor = vector();
    try {
      for (long c = 0; c < channels; c++) {
        factor.setDouble(c, scale.doubleAt(c) * inverse(variance, c));
      }
      map(NORMALIZE, 1, x, mean, factor, offset, y);
    } finally {
      Refs.release(factor);
    }
  }

  /**
   * The gradients of {@link #normalize} by x, scale and offset, given that of y. With {@code
   * training} the mean and variance count as functions of x.
   */
  public void gradient(
      Tensor dy,
      Tensor x,
      Tensor scale,
      Tensor mean,
      Tensor variance,
      boolean training,
      Tensor dx,
      Tensor dScale,
      Tensor dOffset) {
    ChannelSum.run(dy, dOffset, outer, channels, inner);
    ChannelSum.products(dy, 0, x, mean, dScale, outer, channels, inner);
    Tensor byDy = vector();
    Tensor byX = vector();
    Tensor constant = vector();
    try {
      double n = (double) outer * inner;
      for (long c = 0; c < channels; c++) {
        double inverse = inverse(variance, c);
        double slope = scale.doubleAt(c) * inverse;
        double product = dScale.doubleAt(c);
        byDy.setDouble(c, slope);
        byX.setDouble(c, -slope * inverse * inverse * product / n);
        constant.setDouble(c, -slope * dOffset.doubleAt(c) / n);
        dScale.setDouble(c, product * inverse);
      }
      if (training) {
        map(LINEAR, 2, dy, x, mean, byDy, byX, constant, dx);
      } else {
        // Not with a slope of 0 by x, which may be NaN.
        map(SCALE, 1, dy, byDy, dx);
      }
    } finally {
      Refs.release(byDy);
      Refs.release(byX);
      Refs.release(constant);
    }
  }

  private double inverse(Tensor variance, long c) {
    return 1 / Math.sqrt(variance.doubleAt(c) + epsilon);
  }

  private Tensor vector() {
    return Refs.allocate(DType.FLOAT, Shape.of(channels));
  }

  /** Applies a recipe to {@code whole} tensors of this form and then to vectors by channel. */
  private void map(Recipe recipe, int whole, Tensor... operands) {
    Shape form = Shape.of(outer, channels, inner);
    Tensor[] shaped = new Tensor[operands.length];
    for (int k = 0; k < shaped.length; k++) {
      boolean isWhole = k < whole || k == shaped.length - 1;
      shaped[k] = Refs.reshaped(operands[k], isWhole ? form : Shape.of(channels, 1));
    }
    try {
      Walk.run(form, recipe, LaneType.FLOAT, NONE, shaped);
    } finally {
      for (Tensor t : shaped) {
        Refs.release(t);
      }
    }
  }
}
