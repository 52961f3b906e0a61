package dev.millrace.ops.state;

import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.resource.Variable;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;

/** The handle of a resource variable. The variable itself appears with its first assignment. */
public final class VarHandle {
  public static final Op OP =
      Op.define("VarHandleOp")
          .attr("container: string = ''")
          .attr("shared_name: string = ''")
          .attr("debug_name: string = ''")
          .attr("dtype: type")
          .attr("shape: shape")
          .attr("allowed_devices: list(string) = []")
          .output("resource: resource")
          .stateful()
          .shape(Shapes.scalar())
          .kernelPerNode(
              node -> {
                Tensor handle = ResourceHandles.of(node, "Variable");
                return c -> c.output(0, handle);
              })
          .noGradient("a variable's value comes from outside the step")
          .build();

  public static final Op IS_INITIALIZED =
      Op.define("VarIsInitializedOp")
          .input("resource: resource")
          .output("is_initialized: bool")
          .stateful()
          .shape(Shapes.scalar())
          .kernel(
              c -> {
                Resources.Handle h = ResourceHandles.at(c, 0);
                Variable v = c.resources().find(h.container(), h.name(), Variable.class);
                c.allocate(0, Shape.scalar()).setLong(0, v != null && v.isInitialized() ? 1 : 0);
              })
          .noGradient("whether a variable has a value is not a number")
          .build();

  private VarHandle() {}

  /** Adds a resource variable called after the scope's name; gives its handle. */
  public static Output of(Scope scope, DType dtype, Shape shape) {
    return scope.node(OP).attr("dtype", dtype).attr("shape", shape).add().output();
  }

  /** Adds a node that says whether the variable has a value. */
  public static Output isInitialized(Scope scope, Output handle) {
    return scope.add(IS_INITIALIZED, handle).output();
  }
}
