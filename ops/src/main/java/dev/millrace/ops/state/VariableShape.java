package dev.millrace.ops.state;

import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** The dimensions of a resource variable's value, without reading it. */
public final class VariableShape {
  public static final Op OP =
      Op.define("VariableShape")
          .attr("out_type: {int32, int64} = int32")
          .input("input: resource")
          .output("output: out_type")
          .stateful()
          .shape(
              c -> {
                Shape var = VariableKind.RESOURCE.shapeOf(c, 0);
                return List.of(Shape.of(var.hasRank() ? var.rank() : Shape.UNKNOWN));
              })
          .kernel(
              c -> {
                Shape s = VariableKind.RESOURCE.at(c, 0).shape();
                Tensor out = c.allocate(0, Shape.of(s.rank()));
                for (int i = 0; i < s.rank(); i++) {
                  out.setLong(i, s.dim(i));
                }
              })
          .noGradient("a shape does not depend on the values")
          .build();

  private VariableShape() {}

  /** The dimensions, as int32, of the variable behind {@code handle}. */
  public static Output of(Scope scope, Output handle) {
    return scope.add(OP, handle).output();
  }

  /** The dimensions, as {@code type}, of the variable behind {@code handle}. */
  public static Output of(Scope scope, Output handle, DType type) {
    return scope.node(OP).input(handle).attr("out_type", type).add().output();
  }
}
