package dev.millrace.ops.math;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.array.BroadcastGradient;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Select;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.math.elementwise.Elementwise;

/** Elements limited to a range whose ends are scalars or tensors of the same shape. */
public final class ClipByValue {
  public static final Op OP =
      Op.define("ClipByValue")
          .attr("T: numbertype")
          .input("t: T")
          .input("clip_value_min: T")
          .input("clip_value_max: T")
          .output("output: T")
          .shape(Shapes.like(0))
          .kernelPerNode(ClipByValue::kernel)
          .gradient(ClipByValue::gradient)
          .build();

  private ClipByValue() {}

  /** {@code t} with what is below {@code min} and above {@code max} set to these. */
  public static Output of(Scope scope, Output t, Output min, Output max) {
    return scope.add(OP, t, min, max).output();
  }

  private static Kernel kernel(Node node) {
    DType type = node.output(0).dtype();
    Refusal.unless(type.isFloating() || type.isIntegral(), node, type);
    return c -> {
      Shape s = c.input(0).shape();
      for (int i = 1; i <= 2; i++) {
        Shape bound = c.input(i).shape();
        if (bound.elements() != 1 && !bound.equals(s)) {
          throw MillraceException.invalid(
              "clip_value_%s must be a scalar or of the shape of t, %s; it is %s.",
              i == 1 ? "min" : "max", s, bound);
        }
      }
      Elementwise.clip(c.input(0), c.input(1), c.input(2), c.allocateOrReuse(0, 0, s));
    };
  }

  private static void gradient(GradientContext g) {
    Scope s = g.scope();
    Output x = g.input(0);
    Output low = g.input(1);
    Output high = g.input(2);
    Output below = Comparisons.less(s, x, low);
    Output above = Comparisons.greater(s, x, high);
    Output zero = Const.of(s, x.dtype(), 0);
    Output outside = s.add(Comparisons.LOGICAL_OR, below, above).output();
    g.dx(0, BroadcastGradient.reduce(s, Select.of(s, outside, zero, g.dy()), x, g.dy()));
    g.dx(1, BroadcastGradient.reduce(s, Select.of(s, below, g.dy(), zero), low, x));
    g.dx(2, BroadcastGradient.reduce(s, Select.of(s, above, g.dy(), zero), high, x));
  }
}
