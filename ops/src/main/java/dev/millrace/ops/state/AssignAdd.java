package dev.millrace.ops.state;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.resource.Variable;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.elementwise.AddScaled;
import java.util.List;

/** Adds a value of the same shape to a variable of either kind, or subtracts it. */
public final class AssignAdd {
  public static final Op ADD = reference("AssignAdd", 1);
  public static final Op SUB = reference("AssignSub", -1);
  public static final Op ADD_RESOURCE = resource("AssignAddVariableOp", 1);
  public static final Op SUB_RESOURCE = resource("AssignSubVariableOp", -1);

  static final List<Op> ALL = List.of(ADD, SUB, ADD_RESOURCE, SUB_RESOURCE);

  private AssignAdd() {}

  /** Adds a node that adds {@code value} to the variable {@code ref}. */
  public static Node of(Scope scope, Output ref, Output value) {
    return scope.add(ref.isRef() ? ADD : ADD_RESOURCE, ref, value);
  }

  /** Adds a node that subtracts {@code value} from the variable {@code ref}. */
  public static Node sub(Scope scope, Output ref, Output value) {
    return scope.add(ref.isRef() ? SUB : SUB_RESOURCE, ref, value);
  }

  private static Op reference(String name, int sign) {
    return define(
        Op.define(name)
            .attr("T: numbertype")
            .attr("use_locking: bool = false")
            .input("ref: Ref(T)")
            .input("value: T")
            .output("output_ref: Ref(T)"),
        VariableKind.REFERENCE,
        node -> kernel(VariableKind.REFERENCE, node.typeAttr("T"), sign));
  }

  private static Op resource(String name, int sign) {
    return define(
        Op.define(name)
            .attr("dtype: type")
            .input("resource: resource")
            .input("value: dtype")
            .stateful(),
        VariableKind.RESOURCE,
        node -> kernel(VariableKind.RESOURCE, node.typeAttr("dtype"), sign));
  }

  private static Op define(
      Op.Builder op, VariableKind kind, java.util.function.Function<Node, Kernel> kernel) {
    return op.shape(c -> kind.resultShapes(kind.shapeOf(c, 0).mergeWith(c.input(1))))
        .kernelPerNode(kernel)
        .noGradient("changing a variable is not a function of its inputs")
        .build();
  }

  private static Kernel kernel(VariableKind kind, DType type, int sign) {
    return c -> {
      Variable v = kind.at(c, 0, type);
      Tensor value = c.input(1);
      kind.update(
          c,
          v,
          t -> {
            if (!t.shape().equals(value.shape())) {
              throw MillraceException.invalid(
                  "%s '%s': variable '%s' has shape %s, the value %s; they must be the same.",
                  c.node().op().name(), c.node().name(), v.name(), t.shape(), value.shape());
            }
            AddScaled.to(t, value, sign);
          });
      kind.done(c);
    };
  }
}
