package dev.millrace.ops.state;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.resource.Variable;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;

/** A reference variable: it lives in the device's resources under its node's or shared name. */
public final class VariableV2 {
  public static final Op OP = define("VariableV2");

  /** The same op under its older name. */
  public static final Op V1 = define("Variable");

  public static final Op IS_INITIALIZED =
      Op.define("IsVariableInitialized")
          .attr("dtype: type")
          .input("ref: Ref(dtype)")
          .output("is_initialized: bool")
          .allowsUninitialized()
          .shape(Shapes.scalar())
          .kernel(
              c -> {
                Tensor t = c.allocate(0, Shape.scalar());
                t.setLong(0, c.ref(0).isInitialized() ? 1 : 0);
              })
          .noGradient("whether a variable has a value is not a number")
          .build();

  private VariableV2() {}

  private static Op define(String name) {
    return Op.define(name)
        .attr("shape: shape")
        .attr("dtype: type")
        .attr("container: string = ''")
        .attr("shared_name: string = ''")
        .output("ref: Ref(dtype)")
        .stateful()
        .shape(Shapes.attr("shape"))
        .kernelPerNode(VariableV2::kernel)
        .noGradient("a variable's value comes from outside the step")
        .build();
  }

  /** Adds a variable called after the scope's name. */
  public static Output of(Scope scope, DType dtype, Shape shape) {
    return scope.node(OP).attr("shape", shape).attr("dtype", dtype).add().output();
  }

  private static Kernel kernel(Node node) {
    String container = node.stringAttr("container");
    String shared = node.stringAttr("shared_name");
    String name = shared.isEmpty() ? node.name() : shared;
    DType dtype = node.typeAttr("dtype");
    return c -> {
      Variable v = c.resources().variable(container, name, dtype);
      if (v.dtype() != dtype) {
        throw MillraceException.invalid(
            "Variable '%s' exists on this task with type %s; node '%s' declares %s.",
            name, v.dtype(), node.name(), dtype);
      }
      c.outputRef(0, v);
    };
  }
}
