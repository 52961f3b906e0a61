package dev.millrace.ops.scatter;

import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.GatherNd;
import dev.millrace.ops.array.ScatterNd;
import dev.millrace.ops.array.Squeeze;
import dev.millrace.ops.state.VariableKind;
import dev.millrace.ops.state.VariableShape;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.util.List;

/** The slices of a resource variable at coordinates, without reading the rest. */
final class ResourceGatherNd {
  static final Op OP =
      Op.define("ResourceGatherNd")
          .attr("dtype: type")
          .attr("Tindices: {int32, int64}")
          .input("resource: resource")
          .input("indices: Tindices")
          .output("output: dtype")
          .stateful()
          .shape(c -> List.of(infer(c)))
          .kernelPerNode(ResourceGatherNd::kernel)
          .gradient(ResourceGatherNd::gradient)
          .build();

  private ResourceGatherNd() {}

  private static Shape infer(ShapeContext c) {
    return GatherNd.shape(VariableKind.RESOURCE.shapeOf(c, 0), c.input(1));
  }

  private static Kernel kernel(Node node) {
    DType type = node.typeAttr("dtype");
    return c ->
        VariableKind.RESOURCE
            .at(c, 0, type)
            .examine(t -> GatherNd.compute(c, t, c.input(1), false));
  }

  private static void gradient(GradientContext g) {
    Scope s = g.scope();
    Output at = g.input(1);
    Output shape = VariableShape.of(s, g.input(0), at.dtype());
    if (at.shape().rank() == 2 && at.shape().dim(1) == 1) {
      g.dxRows(0, g.dy(), Squeeze.of(s, at, -1), shape);
    } else {
      g.dx(0, ScatterNd.of(s, at, g.dy(), shape));
    }
  }
}
