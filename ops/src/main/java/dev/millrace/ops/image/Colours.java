package dev.millrace.ops.image;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Colours of red, green and blue, and of hue, saturation and value; contrast. */
final class Colours {
  private static final Gradient NONE = Gradient.undefined("TensorFlow defines none in C++");

  /** Changes the three channels of a pixel, in place. */
  private interface Pixel {
    void change(double[] colour);
  }

  static final List<Op> ALL =
      List.of(
          convert("RGBToHSV", Colours::toHsv),
          convert("HSVToRGB", Colours::toRgb),
          adjust("AdjustHue", "delta", false),
          adjust("AdjustSaturation", "scale", true),
          Op.define("AdjustContrastv2")
              .attr("T: {half, float} = float")
              .input("images: T")
              .input("contrast_factor: float")
              .output("output: T")
              .shape(Colours::atLeastThree)
              .kernel(Colours::contrast)
              .gradient(NONE)
              .build());

  private Colours() {}

  private static Op convert(String name, Pixel f) {
    return Op.define(name)
        .attr("T: {half, bfloat16, float, double} = float")
        .input("images: T")
        .output("output: T")
        .shape(
            c -> {
              Shape s = c.input(0);
              if (s.hasRank()) {
                checkChannels(s);
                return List.of(s.withDim(s.rank() - 1, 3));
              }
              return List.of(s);
            })
        .kernel(c -> each(c, f))
        .gradient(NONE)
        .build();
  }

  private static Op adjust(String name, String amount, boolean saturation) {
    return Op.define(name)
        .attr("T: {half, float} = float")
        .input("images: T")
        .input(amount + ": float")
        .output("output: T")
        .shape(Colours::atLeastThree)
        .kernel(
            c -> {
              if (c.input(0).shape().rank() < 3) {
                throw MillraceException.invalid(
                    "input must be at least 3-D, got shape %s", c.input(0).shape());
              }
              if (!c.input(1).shape().isScalar()) {
                throw MillraceException.invalid(
                    "%s must be scalar: %s", amount, c.input(1).shape());
              }
              double by = c.input(1).doubleAt(0);
              each(
                  c,
                  colour -> {
                    toHsv(colour);
                    if (saturation) {
                      colour[1] = Math.min(1, Math.max(0, colour[1] * by));
                    } else {
                      colour[0] = colour[0] + by - Math.floor(colour[0] + by);
                    }
                    toRgb(colour);
                  });
            })
        .gradient(NONE)
        .build();
  }

  private static List<Shape> atLeastThree(ShapeContext c) {
    Shape s = c.input(0);
    c.inputOfRank(1, 0);
    if (s.hasRank() && s.rank() < 3) {
      throw MillraceException.invalid("input must be at least 3-D, got shape %s", s);
    }
    return List.of(s);
  }

  private static void checkChannels(Shape s) {
    if (s.rank() < 1) {
      throw MillraceException.invalid("Shape must be at least rank 1 but is rank 0");
    }
    if (s.dim(-1) >= 0 && s.dim(-1) != 3) {
      throw new MillraceException(
          Code.FAILED_PRECONDITION, "input must have 3 channels in its last dimension: " + s);
    }
  }

  private static void each(KernelContext c, Pixel f) {
    Tensor in = c.input(0);
    checkChannels(in.shape());
    Tensor out = c.allocate(0, in.shape());
    double[] colour = new double[3];
    for (long i = 0; i < in.elements(); i += 3) {
      for (int k = 0; k < 3; k++) {
        colour[k] = in.doubleAt(i + k);
      }
      f.change(colour);
      for (int k = 0; k < 3; k++) {
        out.setDouble(i + k, colour[k]);
      }
    }
  }

  private static void toHsv(double[] c) {
    double red = c[0];
    double green = c[1];
    double blue = c[2];
    double value = Math.max(red, Math.max(green, blue));
    double range = value - Math.min(red, Math.min(green, blue));
    double sixth = 1 / (6 * range);
    double hue = 0;
    if (range > 0) {
      if (red == value) {
        hue = sixth * (green - blue);
      } else if (green == value) {
        hue = sixth * (blue - red) + 2.0 / 6;
      } else {
        hue = sixth * (red - green) + 4.0 / 6;
      }
    }
    c[0] = hue < 0 ? hue + 1 : hue;
    c[1] = value > 0 ? range / value : 0;
    c[2] = value;
  }

  private static void toRgb(double[] c) {
    double hue = c[0];
    double saturation = c[1];
    double value = c[2];
    double red = Math.abs(hue * 6 - 3) - 1;
    double green = 2 - Math.abs(hue * 6 - 2);
    double blue = 2 - Math.abs(hue * 6 - 4);
    c[0] = (1 - saturation + saturation * clamped(red)) * value;
    c[1] = (1 - saturation + saturation * clamped(green)) * value;
    c[2] = (1 - saturation + saturation * clamped(blue)) * value;
  }

  private static double clamped(double v) {
    return Math.min(1, Math.max(0, v));
  }

  /** Moves every value away from the mean of its channel in its image. */
  private static void contrast(KernelContext c) {
    Tensor in = c.input(0);
    Shape s = in.shape();
    if (s.rank() < 3) {
      throw MillraceException.invalid("input must be at least 3-D, got shape %s", s);
    }
    if (!c.input(1).shape().isScalar()) {
      throw MillraceException.invalid("contrast_factor must be scalar: %s", c.input(1).shape());
    }
    double factor = c.input(1).doubleAt(0);
    Tensor out = c.allocate(0, s);
    long channels = s.dim(-1);
    long pixels = s.dim(-2) * s.dim(-3);
    for (long image = 0;
        in.elements() > 0 && image < s.slice(0, s.rank() - 3).elements();
        image++) {
      for (long k = 0; k < channels; k++) {
        double sum = 0;
        for (long p = 0; p < pixels; p++) {
          sum += in.doubleAt((image * pixels + p) * channels + k);
        }
        double mean = sum / pixels;
        for (long p = 0; p < pixels; p++) {
          long at = (image * pixels + p) * channels + k;
          out.setDouble(at, (in.doubleAt(at) - mean) * factor + mean);
        }
      }
    }
  }
}
