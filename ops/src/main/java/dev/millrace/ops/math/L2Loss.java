package dev.millrace.ops.math;

import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.math.reduce.Fold;

/** Half the sum of squares. */
public final class L2Loss {
  public static final Op OP =
      Op.define("L2Loss")
          .attr("T: {half, bfloat16, float, double}")
          .input("t: T")
          .output("output: T")
          .shape(Shapes.scalar())
          .kernel(L2Loss::compute)
          .gradient(g -> g.dx(0, Arithmetic.mul(g.scope(), g.input(0), g.dy())))
          .build();

  private L2Loss() {}

  /** Half the sum of the squares of {@code t}. */
  public static Output of(Scope scope, Output t) {
    return scope.add(OP, t).output();
  }

  private static void compute(KernelContext c) {
    Fold.halfSquares(c.input(0), c.allocate(0, Shape.scalar()));
  }
}
