package dev.millrace.ops.state;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.resource.Variable;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** A variable that lives within one step: made by one node, taken and destroyed by another. */
public final class TemporaryVariable {
  public static final Op OP =
      Op.define("TemporaryVariable")
          .attr("shape: shape")
          .attr("dtype: type")
          .attr("var_name: string = ''")
          .output("ref: Ref(dtype)")
          .stateful()
          .shape(Shapes.attr("shape"))
          .kernelPerNode(TemporaryVariable::make)
          .noGradient("a variable's value comes from outside the graph's functions")
          .build();

  public static final Op DESTROY =
      Op.define("DestroyTemporaryVariable")
          .attr("T: type")
          .attr("var_name: string")
          .input("ref: Ref(T)")
          .output("value: T")
          .shape(Shapes.like(0))
          .kernelPerNode(
              node -> {
                String name = node.stringAttr("var_name");
                return c -> {
                  c.output(0, c.ref(0).read());
                  if (!c.resources().remove(container(c), name)) {
                    throw new MillraceException(
                        Code.NOT_FOUND, "There is no temporary variable '" + name + "'.");
                  }
                };
              })
          .noGradient("a variable's value comes from outside the graph's functions")
          .build();

  static final List<Op> ALL = List.of(OP, DESTROY);

  private TemporaryVariable() {}

  private static String container(KernelContext c) {
    return Resources.containerOfStep(c.stepId());
  }

  private static Kernel make(Node node) {
    DType type = node.typeAttr("dtype");
    Shape shape = node.shapeAttr("shape");
    String given = node.stringAttr("var_name");
    String name = given.isEmpty() ? node.name() : given;
    if (!shape.isKnown()) {
      throw MillraceException.invalid(
          "TemporaryVariable '%s' needs a fully known shape, not %s.", node.name(), shape);
    }
    return c -> {
      String container = container(c);
      if (c.resources().find(container, name, Variable.class) != null) {
        throw new MillraceException(
            Code.ALREADY_EXISTS, "This step already has a temporary variable '" + name + "'.");
      }
      Variable v =
          c.resources()
              .getOrCreate(container, name, Variable.class, () -> new Variable(name, type));
      // A step that is given up never comes to the node that destroys it.
      c.cancellation().onCancel(() -> c.resources().remove(container, name));
      Tensor memory = Refs.allocate(type, shape);
      try {
        v.assign(c.stepId(), memory);
      } finally {
        Refs.release(memory);
      }
      c.outputRef(0, v);
    };
  }
}
