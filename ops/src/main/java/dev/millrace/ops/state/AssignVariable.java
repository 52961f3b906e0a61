package dev.millrace.ops.state;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.resource.Variable;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Gives a resource variable a value, and makes the variable if there is none yet. */
public final class AssignVariable {
  public static final Op OP =
      Op.define("AssignVariableOp")
          .attr("dtype: type")
          .attr("validate_shape: bool = false")
          .input("resource: resource")
          .input("value: dtype")
          .stateful()
          .shape(
              c -> {
                VariableKind.RESOURCE.shapeOf(c, 0).mergeWith(c.input(1));
                return List.of();
              })
          .kernelPerNode(AssignVariable::kernel)
          .noGradient("assigning is not a function of its inputs")
          .build();

  private AssignVariable() {}

  /** Adds a node that assigns {@code value} to the variable behind {@code handle}. */
  public static Node of(Scope scope, Output handle, Output value) {
    return scope.add(OP, handle, value);
  }

  private static Kernel kernel(Node node) {
    DType dtype = node.typeAttr("dtype");
    boolean validate = node.booleanAttr("validate_shape");
    return c -> {
      Resources.Handle h = ResourceHandles.at(c, 0);
      Variable v = c.resources().variable(h.container(), h.name(), dtype);
      if (v.dtype() != dtype) {
        throw MillraceException.invalid(
            "Trying to assign variable with wrong dtype. '%s' is %s, got %s.",
            h.name(), v.dtype(), dtype);
      }
      Tensor value = c.input(1);
      Shape present = validate ? v.shape() : null;
      if (present != null && !present.equals(value.shape())) {
        throw MillraceException.invalid(
            "Trying to assign to variable with tensor with wrong shape. '%s' is %s, got %s.",
            h.name(), present, value.shape());
      }
      v.assignCopied(c.stepId(), value);
    };
  }
}
