package dev.millrace.ops.volume;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.tensor.Shape;

/**
 * How a window slides over a volume of batch, depth, height, width and channels: sizes, steps and
 * what lies before the first element, for each of the three spatial dimensions.
 */
record Sliding(int[] in, int[] window, int[] strides, int[] dilations, int[] out, int[] before) {
  /** What is done for one element of the window at one place of the result. */
  interface Tap {
    /**
     * Takes one element.
     *
     * @param inside the place in the volume, among all its places
     * @param tap the number of the element in the window
     */
    void at(int inside, int tap);
  }

  /** The geometry of a node over a volume of this shape; refuses other layouts than NDHWC. */
  static Sliding of(Node node, Shape volume, int[] window) {
    layout(node);
    int[] strides = spatial(node, "strides");
    int[] dilations = node.hasAttr("dilations") ? spatial(node, "dilations") : new int[] {1, 1, 1};
    int[] in = new int[3];
    int[] out = new int[3];
    int[] before = new int[3];
    for (int d = 0; d < 3; d++) {
      in[d] = Math.toIntExact(volume.dim(d + 1));
      out[d] = Math.toIntExact(size(node, in[d], window[d], strides[d], dilations[d]));
      int reach = (out[d] - 1) * strides[d] + (window[d] - 1) * dilations[d] + 1;
      before[d] = isSame(node) ? Math.max(0, reach - in[d]) / 2 : 0;
    }
    return new Sliding(in, window, strides, dilations, out, before);
  }

  static void layout(Node node) {
    if (!node.stringAttr("data_format").equals("NDHWC")) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          "%s '%s' computes on data_format NDHWC only, as TensorFlow does on CPUs."
              .formatted(node.op().name(), node.name()));
    }
  }

  static boolean isSame(Node node) {
    return node.stringAttr("padding").equals("SAME");
  }

  /** The three numbers in the middle of an attribute of five, whose first and last must be 1. */
  static int[] spatial(Node node, String attr) {
    long[] all = node.longsAttr(attr);
    if (all.length != 5) {
      throw MillraceException.invalid("%s must specify 5 dimensions, not %d", attr, all.length);
    }
    if (all[0] != 1 || all[4] != 1) {
      throw MillraceException.invalid(
          "%s '%s': %s in the batch and depth dimensions must be 1.",
          node.op().name(), node.name(), attr);
    }
    int[] three = new int[3];
    for (int d = 0; d < 3; d++) {
      if (all[d + 1] <= 0 || all[d + 1] > Integer.MAX_VALUE) {
        throw MillraceException.invalid("%s must be positive, not %d", attr, all[d + 1]);
      }
      three[d] = (int) all[d + 1];
    }
    return three;
  }

  /** The size of the result along one dimension; -1 of unknown sizes. */
  static long size(Node node, long in, long window, int stride, int dilation) {
    if (in < 0 || (window < 0 && !isSame(node))) {
      return Shape.UNKNOWN;
    }
    long reach = (window - 1) * dilation + 1;
    long n = isSame(node) ? (in + stride - 1) / stride : (in - reach + stride) / stride;
    if (n < 0) {
      throw MillraceException.invalid(
          "Computed output size would be negative: %d [input_size: %d, effective_filter_size: %d,"
              + " stride: %d]",
          n, in, reach, stride);
    }
    return n;
  }

  int places() {
    return out[0] * out[1] * out[2];
  }

  int volume() {
    return in[0] * in[1] * in[2];
  }

  int taps() {
    return window[0] * window[1] * window[2];
  }

  /** Visits the elements of the window at a place of the result that lie inside the volume. */
  void each(int place, Tap tap) {
    int z = place / (out[1] * out[2]) * strides[0] - before[0];
    int y = place / out[2] % out[1] * strides[1] - before[1];
    int x = place % out[2] * strides[2] - before[2];
    for (int a = 0; a < window[0]; a++) {
      int d = z + a * dilations[0];
      if (d < 0 || d >= in[0]) {
        continue;
      }
      for (int b = 0; b < window[1]; b++) {
        int h = y + b * dilations[1];
        if (h < 0 || h >= in[1]) {
          continue;
        }
        for (int c = 0; c < window[2]; c++) {
          int w = x + c * dilations[2];
          if (w >= 0 && w < in[2]) {
            tap.at((d * in[1] + h) * in[2] + w, (a * window[1] + b) * window[2] + c);
          }
        }
      }
    }
  }
}
