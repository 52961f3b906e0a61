package dev.millrace.ops.state;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.resource.Variable;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Gives a reference variable a value and returns the reference. */
public final class Assign {
  public static final Op OP =
      Op.define("Assign")
          .attr("T: type")
          .attr("validate_shape: bool = true")
          .attr("use_locking: bool = true")
          .input("ref: Ref(T)")
          .input("value: T")
          .output("output_ref: Ref(T)")
          .allowsUninitialized()
          .shape(
              c ->
                  List.of(
                      c.node().booleanAttr("validate_shape")
                          ? c.input(0).mergeWith(c.input(1))
                          : c.input(1)))
          .kernelPerNode(Assign::kernel)
          .noGradient("assigning is not a function of its inputs")
          .build();

  private Assign() {}

  /** Adds a node that assigns {@code value} to the variable {@code ref}. */
  public static Node of(Scope scope, Output ref, Output value) {
    return scope.add(OP, ref, value);
  }

  private static Kernel kernel(Node node) {
    boolean validate = node.booleanAttr("validate_shape");
    Shape declared = node.input(0).shape();
    return c -> {
      Variable v = c.ref(0);
      Tensor value = c.input(1);
      if (validate && !declared.isCompatibleWith(value.shape())) {
        throw MillraceException.invalid(
            "Assign requires shapes of both tensors to match. lhs shape= %s rhs shape= %s",
            declared, value.shape());
      }
      if (validate) {
        v.assignSameShape(c.stepId(), value);
      } else {
        v.assign(c.stepId(), value);
      }
      c.forward(0, 0);
    };
  }
}
