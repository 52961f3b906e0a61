package dev.millrace.ops.nn;

import static dev.millrace.ops.math.Arithmetic.add;
import static dev.millrace.ops.math.Arithmetic.mul;
import static dev.millrace.ops.math.Arithmetic.sub;

import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.math.Reduction;
import dev.millrace.ops.math.Unary;
import dev.millrace.tensor.DType;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * The gradient of the gradient of batch normalisation.
 *
 * <p>With {@code r = 1 / sqrt(variance + epsilon)}, {@code z = (x - mean) r} and means taken per
 * channel, the gradient is, for a batch in training,
 *
 * <pre>
 *   dx = scale r (dy - mean(dy) - z mean(dy z)),  dscale = sum(dy z),  doffset = sum(dy)
 * </pre>
 *
 * and {@code dx = scale r dy} for statistics that are given. What comes back for these three is
 * {@code g}, {@code gScale} and {@code gOffset}. The statistics of a batch are taken from x here,
 * and what is reserved for them gets no gradient: they depend on x alone.
 */
final class BatchNormSecondGradient {
  private final Scope s;
  private final Channels channels;
  private final Output dy;
  private final Output x;
  private final Output scale;
  private final Output g;
  private final Output gScale;
  private final Output gOffset;

  private BatchNormSecondGradient(GradientContext c) {
    s = c.scope();
    channels = Channels.of(c.node());
    dy = wide(c.input(0));
    x = wide(c.input(1));
    scale = perChannel(c.input(2));
    g = wide(c.dy(0));
    gScale = perChannel(c.dy(1));
    gOffset = perChannel(c.dy(2));
  }

  /** Leaves the gradients by what came back first, the images and the scale. */
  static void of(GradientContext c) {
    BatchNormSecondGradient gradient = new BatchNormSecondGradient(c);
    if (c.node().booleanAttr("is_training")) {
      gradient.ofBatch(c);
    } else {
      gradient.ofGiven(c);
    }
  }

  private void ofBatch(GradientContext c) {
    Output centred = sub(s, x, mean(x));
    Output r = inverseDeviation(c, mean(Unary.square(s, centred)));
    Output z = mul(s, centred, r);
    Output slope = mul(s, scale, r);
    // Linear in dy, and its own transpose.
    Output projected = projected(g, z);
    narrow(c, 0, add(s, mul(s, slope, projected), add(s, mul(s, gScale, z), gOffset)));
    // The sum of g dx, of which x is left in z and r: by z first, as z depends on x as y does ...
    Output byZ =
        sub(
            s,
            mul(s, gScale, dy),
            mul(s, slope, add(s, mul(s, dy, mean(mul(s, g, z))), mul(s, g, mean(mul(s, dy, z))))));
    // ... then by r, which falls by r^2 z / n where x rises.
    Output byR = mul(s, mul(s, slope, r), mean(mul(s, dy, projected)));
    narrow(c, 1, sub(s, mul(s, r, projected(byZ, z)), mul(s, byR, z)));
    perChannel(c, mul(s, r, sum(mul(s, dy, projected))));
  }

  private void ofGiven(GradientContext c) {
    Output r = inverseDeviation(c, perChannel(c.input(4)));
    Output z = mul(s, sub(s, x, perChannel(c.input(3))), r);
    narrow(c, 0, add(s, mul(s, mul(s, scale, r), g), add(s, mul(s, gScale, z), gOffset)));
    narrow(c, 1, mul(s, mul(s, gScale, r), dy));
    perChannel(c, mul(s, r, sum(mul(s, dy, g))));
  }

  private Output inverseDeviation(GradientContext c, Output variance) {
    Output epsilon = Const.of(s, DType.FLOAT, c.node().floatAttr("epsilon"));
    return Unary.of(s, Unary.RSQRT, add(s, variance, epsilon));
  }

  /** What is left of a value without its mean and its part along z. */
  private Output projected(Output v, Output z) {
    return sub(s, sub(s, v, mean(v)), mul(s, z, mean(mul(s, v, z))));
  }

  private Output mean(Output v) {
    return Reduction.of(s, Reduction.MEAN, v, otherAxes(), true);
  }

  private Output sum(Output v) {
    return Reduction.sum(s, v, otherAxes(), true);
  }

  private Output otherAxes() {
    int rank = channels.format().length();
    int axis = channels.areSecond() ? 1 : rank - 1;
    return Const.ints(s, IntStream.range(0, rank).filter(i -> i != axis).toArray());
  }

  /** A value per channel as floats that stretch over the images. */
  private Output perChannel(Output v) {
    if (!channels.areSecond()) {
      return wide(v);
    }
    int[] dims = new int[channels.format().length()];
    Arrays.fill(dims, 1);
    dims[1] = -1;
    return Reshape.of(s, wide(v), Const.ints(s, dims));
  }

  /** Leaves the gradient of the scale. */
  private void perChannel(GradientContext c, Output v) {
    c.dx(2, Reshape.of(s, v, Const.ints(s, -1)));
  }

  private Output wide(Output v) {
    return v.dtype() == DType.FLOAT ? v : Cast.of(s, v, DType.FLOAT);
  }

  private void narrow(GradientContext c, int input, Output v) {
    DType type = c.input(input).dtype();
    c.dx(input, type == DType.FLOAT ? v : Cast.of(s, v, type));
  }
}
