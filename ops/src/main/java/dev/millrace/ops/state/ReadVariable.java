package dev.millrace.ops.state;

import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.DType;
import java.util.List;

/**
 * The value of a resource variable at this moment. No bytes are copied: a later change goes to a
 * copy for as long as somebody reads this one.
 */
public final class ReadVariable {
  public static final Op OP =
      Op.define("ReadVariableOp")
          .attr("dtype: type")
          .input("resource: resource")
          .output("value: dtype")
          .stateful()
          .shape(
              c -> {
                VariableKind.checkType(c.node().input(0), c.node().typeAttr("dtype"));
                return List.of(VariableKind.RESOURCE.shapeOf(c, 0));
              })
          .kernelPerNode(ReadVariable::kernel)
          .gradient(g -> g.pass(0, 0))
          .build();

  private ReadVariable() {}

  /** Adds a read of the variable of {@code dtype} behind {@code handle}. */
  public static Output of(Scope scope, Output handle, DType dtype) {
    return scope.node(OP).input(handle).attr("dtype", dtype).add().output();
  }

  private static Kernel kernel(Node node) {
    DType dtype = node.typeAttr("dtype");
    return c -> c.output(0, VariableKind.RESOURCE.at(c, 0, dtype).read());
  }
}
