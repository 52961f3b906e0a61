package dev.millrace.ops.math;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** The bucket of each element: how many of the sorted boundaries are not above it. */
public final class Bucketize {
  public static final Op OP =
      Op.define("Bucketize")
          .attr("T: {int32, int64, float, double}")
          .attr("boundaries: list(float)")
          .input("input: T")
          .output("output: int32")
          .shape(Shapes.like(0))
          .kernelPerNode(Bucketize::kernel)
          .noGradient("bucket numbers are piecewise constant")
          .build();

  private Bucketize() {}

  /** For each element of {@code x} the number of its bucket between these boundaries. */
  public static Output of(Scope scope, Output x, List<Float> boundaries) {
    return scope.node(OP).input(x).attr("boundaries", boundaries).add().output();
  }

  private static Kernel kernel(Node node) {
    List<AttrValue> values = node.listAttr("boundaries");
    float[] boundaries = new float[values.size()];
    for (int i = 0; i < boundaries.length; i++) {
      boundaries[i] = ((AttrValue.Real) values.get(i)).value();
      if (i > 0 && boundaries[i] < boundaries[i - 1]) {
        throw MillraceException.invalid(
            "Expected sorted boundaries; Bucketize '%s' has %s before %s.",
            node.name(), boundaries[i - 1], boundaries[i]);
      }
    }
    // TensorFlow compares integers with the boundaries as floats.
    boolean rounded = node.input(0).dtype() != DType.DOUBLE;
    return c -> {
      Tensor x = c.input(0);
      Tensor out = c.allocate(0, x.shape());
      for (long i = 0; i < x.elements(); i++) {
        double v = x.dtype().isIntegral() ? (float) x.longAt(i) : x.doubleAt(i);
        out.setLong(i, bucket(boundaries, rounded ? (float) v : v));
      }
    };
  }

  private static int bucket(float[] boundaries, double v) {
    int low = 0;
    int high = boundaries.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (v < boundaries[middle]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
}
