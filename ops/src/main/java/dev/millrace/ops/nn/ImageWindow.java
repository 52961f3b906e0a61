package dev.millrace.ops.nn;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.math.conv.Window;

/**
 * How a window moves over images, from the attributes {@code strides}, {@code padding}, {@code
 * explicit_paddings}, {@code dilations} and {@code data_format} that convolutions and poolings
 * share.
 */
final class ImageWindow {
  private final Channels format;
  private final long[] strides;
  private final long[] dilations;
  private final String padding;

  /** Before and after, for each dimension; used where padding is EXPLICIT. */
  private final long[] explicit;

  private ImageWindow(
      Channels format, long[] strides, long[] dilations, String padding, long[] explicit) {
    this.format = format;
    this.strides = strides;
    this.dilations = dilations;
    this.padding = padding;
    this.explicit = explicit;
  }

  static ImageWindow of(Node node) {
    Channels format = Channels.of(node);
    long[] none = {1, 1, 1, 1};
    long[] strides = four(node, "strides");
    long[] dilations = node.hasAttr("dilations") ? four(node, "dilations") : none;
    String padding = node.stringAttr("padding");
    long[] explicit =
        node.hasAttr("explicit_paddings") ? node.longsAttr("explicit_paddings") : new long[0];
    ImageWindow w = new ImageWindow(format, strides, dilations, padding, explicit);
    w.check();
    return w;
  }

  /** A list of four numbers of at least 1, one for each dimension. */
  static long[] four(Node node, String attr) {
    long[] v = node.longsAttr(attr);
    if (v.length != 4) {
      throw MillraceException.invalid(
          "Sliding window %s field must specify 4 dimensions; it has %d.", attr, v.length);
    }
    for (long d : v) {
      if (d < 1 || d > Integer.MAX_VALUE) {
        throw MillraceException.invalid("%s must be between 1 and 2^31 - 1; one is %d.", attr, d);
      }
    }
    return v;
  }

  private void check() {
    int channel = channelAxis();
    if (strides[0] != 1 || strides[channel] != 1) {
      throw MillraceException.invalid(
          "Current implementation does not yet support strides in the batch and depth dimensions.");
    }
    if (dilations[0] != 1 || dilations[channel] != 1) {
      throw MillraceException.invalid(
          "Current implementation does not yet support dilations in the batch and depth"
              + " dimensions.");
    }
    if (!padding.equals("EXPLICIT")) {
      if (explicit.length != 0) {
        throw MillraceException.invalid(
            "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT");
      }
      return;
    }
    if (explicit.length != 8) {
      throw MillraceException.invalid(
          "explicit_paddings attribute must contain 8 values, but got: %d", explicit.length);
    }
    for (int i = 0; i < 8; i++) {
      boolean outside = i / 2 == 0 || i / 2 == channel;
      if (explicit[i] < 0 || explicit[i] > Integer.MAX_VALUE || (outside && explicit[i] != 0)) {
        throw MillraceException.invalid(
            "explicit_paddings must not be negative, and 0 in the batch and depth dimensions; value"
                + " %d is %d.",
            i, explicit[i]);
      }
    }
  }

  /** Refuses a node whose images do not have their channels last. */
  void requireChannelsLast(Node node) {
    if (format.areSecond()) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          node.op().name()
              + " '"
              + node.name()
              + "': on the CPU only data_format NHWC has a kernel, not "
              + format.format()
              + ". Transpose the images.");
    }
  }

  int batchAxis() {
    return 0;
  }

  int channelAxis() {
    return format.areSecond() ? 1 : 3;
  }

  int rowAxis() {
    return format.areSecond() ? 2 : 1;
  }

  int columnAxis() {
    return rowAxis() + 1;
  }

  /** The window's way down images of this height. */
  Window rows(long height, long size) {
    return window(rowAxis(), height, size);
  }

  /** The window's way across images of this width. */
  Window columns(long width, long size) {
    return window(columnAxis(), width, size);
  }

  private Window window(int axis, long input, long size) {
    int in = toInt(input);
    int n = toInt(size);
    int stride = (int) strides[axis];
    int dilation = (int) dilations[axis];
    if (n < 1) {
      throw MillraceException.invalid("the window must not be empty; its size is %d.", size);
    }
    toInt((size - 1) * dilation + 1);
    return switch (padding) {
      // A stride beyond the image is as good as one over it, and cannot overflow.
      case "SAME" -> Window.same(in, n, Math.min(stride, Math.max(in, 1)), dilation);
      case "VALID" -> Window.valid(n, stride, dilation);
      default -> {
        long before = explicit[2 * axis];
        long after = explicit[2 * axis + 1];
        toInt(input + before + after);
        yield new Window(n, stride, dilation, (int) before, (int) after);
      }
    };
  }

  private static int toInt(long v) {
    if (v > Integer.MAX_VALUE) {
      throw MillraceException.invalid("a dimension of %d is too large; 2^31 - 1 is the limit.", v);
    }
    return (int) v;
  }

  /** Refuses a window larger than what it moves over, where both are known. */
  void requireFit(Shape images, long rows, long columns) {
    requireFit(rowAxis(), images.dim(rowAxis()), rows);
    requireFit(columnAxis(), images.dim(columnAxis()), columns);
  }

  private void requireFit(int axis, long input, long size) {
    long reach = (size - 1) * dilations[axis] + 1;
    long room = input + paddings(axis);
    if (input >= 0 && size >= 0 && reach > room && !padding.equals("SAME")) {
      throw MillraceException.invalid(
          "Negative dimension size caused by subtracting %d from %d", reach, room);
    }
  }

  private long paddings(int axis) {
    return padding.equals("EXPLICIT") ? explicit[2 * axis] + explicit[2 * axis + 1] : 0;
  }

  /** The size of the output along an axis; unknown where input or window are. */
  long outputs(int axis, long input, long size) {
    if (input < 0 || (size < 0 && !padding.equals("SAME"))) {
      return Shape.UNKNOWN;
    }
    long stride = strides[axis];
    if (padding.equals("SAME")) {
      return (input + stride - 1) / stride;
    }
    long reach = (size - 1) * dilations[axis] + 1;
    long n = Math.floorDiv(input + paddings(axis) - reach + stride, stride);
    if (n < 0) {
      throw MillraceException.invalid(
          "Computed output size would be negative: %d [input_size: %d, effective_filter_size: %d,"
              + " stride: %d]",
          n, input, reach, stride);
    }
    return n;
  }

  /** The shape of images with these sizes, in this format. */
  Shape image(long batch, long rows, long columns, long channels) {
    return format.areSecond()
        ? Shape.of(batch, channels, rows, columns)
        : Shape.of(batch, rows, columns, channels);
  }
}
