package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Rows;
import java.util.List;

/** The slices of {@code params} along a dimension that {@code indices} name. */
public final class Gather {
  public static final Op OP =
      Op.define("GatherV2")
          .attr("batch_dims: int = 0")
          .attr("Tparams: type")
          .attr("Tindices: {int16, int32, int64}")
          .attr("Taxis: {int32, int64}")
          .input("params: Tparams")
          .input("indices: Tindices")
          .input("axis: Taxis")
          .output("output: Tparams")
          .shape(Gather::infer)
          .kernelPerNode(Gather::kernel)
          .gradient(GatherGradient::of)
          .build();

  /** The older op: along the first dimension. */
  public static final Op V1 =
      Op.define("Gather")
          .attr("validate_indices: bool = true")
          .attr("Tparams: type")
          .attr("Tindices: {int32, int64}")
          .input("params: Tparams")
          .input("indices: Tindices")
          .output("output: Tparams")
          .shape(
              c -> {
                Shape p = c.input(0);
                return List.of(p.hasRank() ? shape(p, c.input(1), 0, 0) : Shape.unknown());
              })
          .kernel(c -> gather(c, 0, 0))
          .gradient(GatherGradient::rows)
          .build();

  private Gather() {}

  /** The rows of {@code params} that {@code indices} name. */
  public static Output of(Scope scope, Output params, Output indices) {
    return of(scope, params, indices, 0);
  }

  /**
   * The slices of {@code params} along {@code axis} that {@code indices} number; an index out of
   * range fails the step.
   */
  public static Output of(Scope scope, Output params, Output indices, int axis) {
    return scope.add(OP, params, indices, Const.of(scope, axis)).output();
  }

  private static List<Shape> infer(ShapeContext c) {
    Shape params = c.input(0);
    Shape indices = c.input(1);
    Tensor axis = c.constant(2);
    if (!params.hasRank() || !indices.hasRank()) {
      return List.of(Shape.unknown());
    }
    int batch = batchDims(indices, c.node().longAttr("batch_dims"));
    if (axis == null && params.rank() == 0) {
      throw MillraceException.invalid(
          "input 0 ('%s') must have rows; it is a scalar.", c.node().input(0).name());
    }
    if (axis == null) {
      return List.of(Shape.unknownOfRank(params.rank() - 1 + indices.rank() - batch));
    }
    return List.of(shape(params, indices, Axis.of(axis, params.rank()), batch));
  }

  private static int batchDims(Shape indices, long attr) {
    if (attr < -indices.rank() || attr > indices.rank()) {
      throw MillraceException.invalid(
          "Expected batch_dims in the range [%d, %d], but got %d",
          -indices.rank(), indices.rank(), attr);
    }
    return (int) (attr < 0 ? attr + indices.rank() : attr);
  }

  private static Shape shape(Shape params, Shape indices, int axis, int batch) {
    if (params.rank() == 0) {
      throw MillraceException.invalid("params must be at least 1 dimensional");
    }
    if (batch > axis) {
      throw MillraceException.invalid(
          "batch_dims (%d) must be less than or equal to axis (%d).", batch, axis);
    }
    if (!indices.hasRank()) {
      return Shape.unknown();
    }
    Shape common = params.slice(0, batch).mergeWith(indices.slice(0, batch));
    return common
        .concat(params.slice(batch, axis))
        .concat(indices.slice(batch, indices.rank()))
        .concat(params.slice(axis + 1, params.rank()));
  }

  private static Kernel kernel(Node node) {
    long batchDims = node.longAttr("batch_dims");
    return c -> {
      int axis = Axis.of(c.input(2), c.input(0).shape().rank());
      gather(c, axis, batchDims(c.input(1).shape(), batchDims));
    };
  }

  private static void gather(KernelContext c, int axis, int batch) {
    Tensor params = c.input(0);
    Tensor indices = c.input(1);
    Shape s = params.shape();
    Tensor out = c.allocate(0, shape(s, indices.shape(), axis, batch));
    long wrong = Rows.firstOutside(indices, s.dim(axis));
    if (wrong >= 0) {
      throw MillraceException.invalid(
          "indices[%s] = %d is not in [0, %d)",
          position(indices.shape(), wrong), indices.longAt(wrong), s.dim(axis));
    }
    if (out.elements() == 0) {
      return;
    }
    long batches = s.slice(0, batch).elements();
    long blocks = s.slice(0, axis).elements();
    long length = s.slice(axis + 1, s.rank()).elements();
    Rows.gather(params, batches, blocks, s.dim(axis), length, indices, out);
  }

  /** The coordinates of element {@code i} of a tensor, as TensorFlow writes them. */
  public static String position(Shape shape, long i) {
    StringBuilder s = new StringBuilder();
    for (int d = shape.rank() - 1; d >= 0; d--) {
      s.insert(0, i % shape.dim(d)).insert(0, d > 0 ? "," : "");
      i /= shape.dim(d);
    }
    return s.toString();
  }
}
