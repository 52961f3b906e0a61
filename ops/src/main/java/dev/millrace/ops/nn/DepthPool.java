package dev.millrace.ops.nn;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.reduce.Fold;

/**
 * The largest of neighbouring channels, pixel by pixel: a MaxPool whose window lies over channels
 * alone. Windows follow each other without a gap.
 *
 * @param window how many channels become one
 */
record DepthPool(long window) {
  /** Whether the node is a MaxPool over channels. */
  static boolean isMeantBy(Node node) {
    return node.op() == Pool.MAX && over(node, "ksize") > 1;
  }

  /** Refuses what TensorFlow does not compute either. */
  static DepthPool of(Node node) {
    ImageWindow.four(node, "strides");
    long[] size = ImageWindow.four(node, "ksize");
    long window = over(node, "ksize");
    long others = 1;
    for (long s : size) {
      others *= s;
    }
    if (others != window) {
      throw unimplemented(
          "MaxPooling supports exactly one of pooling across depth or pooling across"
              + " width/height.");
    }
    if (over(node, "strides") != window) {
      throw unimplemented(
          "Depthwise max pooling requires the depth window to equal the depth stride.");
    }
    if (Channels.of(node).areSecond()) {
      throw unimplemented("Depthwise max pooling has a kernel for data_format NHWC only.");
    }
    return new DepthPool(window);
  }

  private static long over(Node node, String attr) {
    long[] v = node.longsAttr(attr);
    int axis = Channels.of(node).areSecond() ? 1 : 3;
    return v.length == 4 ? v[axis] : 1;
  }

  /** The shape of the result, as far as known; the kernel refuses wrong windows. */
  static Shape shape(Node node, Shape images) {
    long depth = images.dim(3);
    long window = over(node, "ksize");
    boolean whole = depth >= 0 && depth % window == 0;
    return images.withDim(3, whole ? depth / window : Shape.UNKNOWN);
  }

  Shape output(Shape images) {
    if (images.rank() != 4) {
      throw MillraceException.invalid("tensor_in must be 4-dimensional; it has shape %s", images);
    }
    long depth = images.dim(3);
    if (depth % window != 0) {
      throw unimplemented(
          "Depthwise max pooling requires the depth window to evenly divide the input depth.");
    }
    return images.withDim(3, depth / window);
  }

  void max(KernelContext c) {
    Tensor x = c.input(0);
    Tensor y = c.allocate(0, output(x.shape()));
    Tensor rows = Refs.reshaped(x, Shape.of(y.elements(), window));
    try {
      Fold.MAX.run(rows, new boolean[] {false, true}, y);
    } finally {
      Refs.release(rows);
    }
  }

  private static MillraceException unimplemented(String why) {
    return new MillraceException(Code.UNIMPLEMENTED, why);
  }
}
