package dev.millrace.ops.summary;

import com.google.protobuf.ByteString;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.proto.Summary;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;

/** The first images of a batch, as PNG files. */
public final class ImageSummary {
  public static final Op OP =
      Summaries.define(
              Op.define("ImageSummary")
                  .attr("max_images: int >= 1 = 3")
                  .attr("T: {uint8, float, half, double} = float")
                  .attr("bad_color: tensor = uint8[255, 0, 0, 255]")
                  .input("tag: string")
                  .input("tensor: T"))
          .kernelPerNode(ImageSummary::kernel)
          .build();

  private ImageSummary() {}

  /** Adds a summary of up to three images of a batch [n, height, width, 1, 3 or 4 channels]. */
  public static Output of(Scope scope, String tag, Output images) {
    return scope.add(OP, Const.of(scope, tag), images).output();
  }

  private static Kernel kernel(Node node) {
    long most = node.longAttr("max_images");
    Tensor badColor = node.tensorAttr("bad_color");
    if (badColor.dtype() != DType.UINT8) {
      throw MillraceException.invalid(
          "ImageSummary '%s': bad_color must be uint8, got %s.", node.name(), badColor.dtype());
    }
    return c -> {
      String tag = Summaries.tag(c, 0);
      Tensor images = c.input(1);
      Shape s = images.shape();
      check(node, s, badColor);
      Summary.Builder summary = Summary.newBuilder();
      for (long i = 0; i < Math.min(most, s.dim(0)); i++) {
        int height = (int) s.dim(1);
        int width = (int) s.dim(2);
        int channels = (int) s.dim(3);
        byte[] pixels = new byte[height * width * channels];
        if (images.dtype() == DType.UINT8) {
          for (int k = 0; k < pixels.length; k++) {
            pixels[k] = (byte) images.longAt(i * pixels.length + k);
          }
        } else {
          normalize(images, i * pixels.length, channels, badColor, pixels);
        }
        summary
            .addValueBuilder()
            .setTag(Summaries.numbered(tag, "image", i, most))
            .getImageBuilder()
            .setHeight(height)
            .setWidth(width)
            .setColorspace(channels)
            .setEncodedImageString(
                ByteString.copyFrom(Png.encode(pixels, height, width, channels)));
      }
      Summaries.deliver(c, summary);
    };
  }

  private static void check(Node node, Shape s, Tensor badColor) {
    long channels = s.rank() == 4 ? s.dim(3) : 0;
    if (channels != 1 && channels != 3 && channels != 4) {
      throw MillraceException.invalid(
          "ImageSummary '%s': Tensor must be 4-D with last dim 1, 3, or 4, not %s.",
          node.name(), s);
    }
    if (s.dim(1) == 0 || s.dim(2) == 0 || s.dim(1) * s.dim(2) * channels > 1 << 30) {
      throw MillraceException.invalid(
          "ImageSummary '%s': images must have a height and a width, and no more than 2^30 values;"
              + " the tensor has shape %s.",
          node.name(), s);
    }
    if (badColor.elements() < channels) {
      throw MillraceException.invalid(
          "ImageSummary '%s': bad_color has %d values; images of %d channels need one for each.",
          node.name(), badColor.elements(), channels);
    }
  }

  /**
   * Stretches the values of one image over 0..255, or over 1..255 around 128 if some are negative.
   * A pixel with a channel that is not finite gets the bad colour.
   */
  private static void normalize(Tensor t, long at, int channels, Tensor badColor, byte[] to) {
    double min = Double.POSITIVE_INFINITY;
    double max = Double.NEGATIVE_INFINITY;
    for (int p = 0; p < to.length; p += channels) {
      if (isFinite(t, at + p, channels)) {
        for (int k = 0; k < channels; k++) {
          double v = t.doubleAt(at + p + k);
          min = Math.min(min, v);
          max = Math.max(max, v);
        }
      }
    }
    // The scale is a float, all else rounded to the type of the image, as in TensorFlow.
    DType type = t.dtype();
    double offset = min < 0 ? 128 : 0;
    double largest = min < 0 ? Math.max(-min, Math.abs(max)) : max;
    float most = (float) largest;
    double scale = most < 1e-6f ? 0 : round(type, (min < 0 ? 127 : 255) / most);
    for (int p = 0; p < to.length; p += channels) {
      boolean finite = isFinite(t, at + p, channels);
      for (int k = 0; k < channels; k++) {
        double v = round(type, t.doubleAt(at + p + k) * scale);
        to[p + k] = (byte) (finite ? (int) round(type, v + offset) : (int) badColor.longAt(k));
      }
    }
  }

  private static boolean isFinite(Tensor t, long at, int channels) {
    for (int k = 0; k < channels; k++) {
      if (!Double.isFinite(t.doubleAt(at + k))) {
        return false;
      }
    }
    return true;
  }

  private static double round(DType type, double v) {
    return switch (type) {
      case FLOAT -> (float) v;
      case HALF -> Float.float16ToFloat(Float.floatToFloat16((float) v));
      default -> v;
    };
  }
}
