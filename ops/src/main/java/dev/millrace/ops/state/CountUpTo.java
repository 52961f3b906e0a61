package dev.millrace.ops.state;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.resource.Variable;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Counts a scalar variable up by one and gives what it was; OUT_OF_RANGE once at the limit. */
public final class CountUpTo {
  static final List<Op> ALL =
      List.of(
          define(Op.define("CountUpTo"), VariableKind.REFERENCE, "ref"),
          define(Op.define("ResourceCountUpTo").stateful(), VariableKind.RESOURCE, "resource"));

  private CountUpTo() {}

  private static Op define(Op.Builder op, VariableKind kind, String input) {
    return op.attr("limit: int")
        .attr("T: {int32, int64}")
        .input(kind.argument(input, "T"))
        .output("output: T")
        .shape(Shapes.scalar())
        .kernelPerNode(node -> kernel(node, kind))
        .noGradient("counting is not a function of its inputs")
        .build();
  }

  private static Kernel kernel(Node node, VariableKind kind) {
    long limit = node.longAttr("limit");
    DType type = node.typeAttr("T");
    return c -> {
      Variable v = kind.at(c, 0, type);
      Tensor before = c.allocate(0, Shape.scalar());
      // What a repeated step counted before it was repeated is not counted again, and not known.
      v.examine(t -> before.setLong(0, t.elements() == 1 ? t.longAt(0) : 0));
      kind.update(
          c,
          v,
          t -> {
            if (!t.shape().isScalar()) {
              throw MillraceException.invalid(
                  "%s '%s' counts a scalar; the variable has shape %s.",
                  node.op().name(), node.name(), t.shape());
            }
            long now = t.longAt(0);
            if (now >= limit) {
              throw new MillraceException(
                  Code.OUT_OF_RANGE, "Reached limit of " + limit + " (" + node.name() + ")");
            }
            before.setLong(0, now);
            t.setLong(0, now + 1);
          });
    };
  }
}
