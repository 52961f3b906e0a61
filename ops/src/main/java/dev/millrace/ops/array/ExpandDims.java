package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** With a dimension of size 1 put in before dimension {@code dim}; negative counts from behind. */
public final class ExpandDims {
  public static final Op OP =
      Op.define("ExpandDims")
          .attr("T: type")
          .attr("Tdim: {int32, int64} = int32")
          .input("input: T")
          .input("dim: Tdim")
          .output("output: T")
          .shape(ExpandDims::infer)
          .kernel(
              c -> c.output(0, Refs.reshaped(c.input(0), expand(c.input(0).shape(), c.input(1)))))
          .gradient(Reshape::likeInput)
          .build();

  private ExpandDims() {}

  /**
   * {@code input} with a dimension of size 1 inserted at {@code axis}; negative ones count from the
   * end.
   */
  public static Output of(Scope scope, Output input, int axis) {
    return of(scope, input, Const.of(scope, axis));
  }

  /** Adds {@code input} with a dimension of 1 at an axis that is computed by the graph. */
  public static Output of(Scope scope, Output input, Output axis) {
    return scope.add(OP, input, axis).output();
  }

  private static List<Shape> infer(ShapeContext c) {
    Shape in = c.input(0);
    Tensor dim = c.constant(1);
    if (!in.hasRank()) {
      return List.of(in);
    }
    return List.of(dim == null ? Shape.unknownOfRank(in.rank() + 1) : expand(in, dim));
  }

  private static Shape expand(Shape in, Tensor dim) {
    long axis = Axis.single(dim, "dim");
    int rank = in.rank();
    if (axis < -rank - 1 || axis > rank) {
      throw MillraceException.invalid(
          "dim %d is outside a tensor of rank %d; it must be in the range [%d, %d].",
          axis, rank, -rank - 1, rank);
    }
    int at = (int) (axis < 0 ? axis + rank + 1 : axis);
    return in.slice(0, at).concat(Shape.of(1)).concat(in.slice(at, rank));
  }
}
