package dev.millrace.ops.state;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Concat;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.ExpandDims;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.ops.array.StridedSlice;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Rows;
import java.util.List;

/**
 * The rows of a resource variable that {@code indices} name, without reading the rest. Its gradient
 * covers these rows only, so an embedding table of any size can be trained.
 */
public final class ResourceGather {
  public static final Op OP =
      Op.define("ResourceGather")
          .attr("batch_dims: int = 0")
          .attr("validate_indices: bool = true")
          .attr("dtype: type")
          .attr("Tindices: {int32, int64}")
          .input("resource: resource")
          .input("indices: Tindices")
          .output("output: dtype")
          .stateful()
          .shape(
              c -> {
                Shape var = VariableKind.RESOURCE.shapeOf(c, 0);
                return List.of(shape(c.node(), var, c.input(1)));
              })
          .kernelPerNode(ResourceGather::kernel)
          .gradient(ResourceGather::gradient)
          .build();

  private ResourceGather() {}

  /** Adds a gather from the variable of {@code dtype} behind {@code handle}. */
  public static Output of(Scope scope, Output handle, Output indices, DType dtype) {
    return scope.node(OP).input(handle).input(indices).attr("dtype", dtype).add().output();
  }

  private static Shape shape(Node node, Shape var, Shape indices) {
    if (!var.hasRank() || !indices.hasRank()) {
      return Shape.unknown();
    }
    long batch = batchDims(node, indices);
    if (batch < 0 || batch > indices.rank() || batch >= var.rank()) {
      throw MillraceException.invalid(
          "batch_dims of %d do not fit a variable of shape %s and indices of shape %s: need"
              + " 0 <= batch_dims < the rank of the variable, and at most the rank of the indices.",
          node.longAttr("batch_dims"), var, indices);
    }
    int b = (int) batch;
    return var.slice(0, b)
        .mergeWith(indices.slice(0, b))
        .concat(indices.slice(b, indices.rank()))
        .concat(var.slice(b + 1, var.rank()));
  }

  private static long batchDims(Node node, Shape indices) {
    long attr = node.longAttr("batch_dims");
    return attr < 0 ? attr + indices.rank() : attr;
  }

  private static Kernel kernel(Node node) {
    DType type = node.typeAttr("dtype");
    return c -> VariableKind.RESOURCE.at(c, 0, type).examine(t -> gather(c, t));
  }

  private static void gather(KernelContext c, Tensor var) {
    Tensor indices = c.input(1);
    Shape s = var.shape();
    Shape result = shape(c.node(), s, indices.shape());
    int batch = (int) batchDims(c.node(), indices.shape());
    long wrong = Rows.firstOutside(indices, s.dim(batch));
    if (wrong >= 0) {
      throw MillraceException.invalid(
          "indices[%d] = %d is not in [0, %d)", wrong, indices.longAt(wrong), s.dim(batch));
    }
    Tensor out = c.allocate(0, result);
    if (out.elements() > 0) {
      long batches = s.slice(0, batch).elements();
      long width = s.slice(batch + 1, s.rank()).elements();
      Rows.gather(var, batches, batches, s.dim(batch), width, indices, out);
    }
  }

  private static void gradient(GradientContext g) {
    if (g.node().longAttr("batch_dims") != 0) {
      throw MillraceException.invalid(
          "The gradient of ResourceGather '%s' was asked for, but it has batch_dims. Gather from"
              + " what ReadVariableOp gives instead.",
          g.node().name());
    }
    Scope s = g.scope();
    Shape var = VariableKind.shapeBehind(g.input(0));
    Output whole = var.isKnown() ? Const.dims(s, var) : VariableShape.of(s, g.input(0));
    Output indices = Reshape.of(s, g.input(1), Const.ints(s, -1));
    Output count = ExpandDims.of(s, ShapeOf.size(s, indices), 0);
    Output rowShape = StridedSlice.range(s, whole, 1, null);
    Output values = Reshape.of(s, g.dy(), Concat.of(s, List.of(count, rowShape), 0));
    g.dxRows(0, values, indices, whole);
  }
}
