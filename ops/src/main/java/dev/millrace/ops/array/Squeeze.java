package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import java.util.Arrays;
import java.util.List;

/** Without dimensions of size 1: those named, or all of them. */
public final class Squeeze {
  public static final Op OP =
      Op.define("Squeeze")
          .attr("T: type")
          .attr("squeeze_dims: list(int) >= 0 = []")
          .input("input: T")
          .output("output: T")
          .shape(c -> List.of(squeeze(c.input(0), c.node().longsAttr("squeeze_dims"))))
          .kernelPerNode(
              node -> {
                long[] axes = node.longsAttr("squeeze_dims");
                return c ->
                    c.output(0, Refs.reshaped(c.input(0), squeeze(c.input(0).shape(), axes)));
              })
          .gradient(Reshape::likeInput)
          .build();

  private Squeeze() {}

  /** Without these dimensions, or without all of size 1 if none is named. */
  public static Output of(Scope scope, Output input, int... axes) {
    return scope.node(OP).input(input).attr("squeeze_dims", axes).add().output();
  }

  private static Shape squeeze(Shape in, long[] axes) {
    if (!in.hasRank()) {
      return in;
    }
    boolean[] drop = new boolean[in.rank()];
    for (long a : axes) {
      int axis = Axis.of(a, in.rank());
      if (in.dim(axis) > 1 || in.dim(axis) == 0) {
        throw MillraceException.invalid(
            "cannot squeeze dimension %d of shape %s: it is %d, not 1.", axis, in, in.dim(axis));
      }
      drop[axis] = true;
    }
    long[] kept = new long[in.rank()];
    int n = 0;
    for (int i = 0; i < in.rank(); i++) {
      if (axes.length == 0) {
        if (in.dim(i) < 0) {
          return Shape.unknown();
        }
        drop[i] = in.dim(i) == 1;
      }
      if (!drop[i]) {
        kept[n++] = in.dim(i);
      }
    }
    return Shape.of(Arrays.copyOf(kept, n));
  }
}
