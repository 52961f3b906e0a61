package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.math.elementwise.Elementwise;
import java.util.List;

/** An element of {@code t} where the condition holds, else of {@code e}; all three broadcast. */
public final class Select {
  public static final Op OP =
      Op.define("SelectV2")
          .attr("T: type")
          .input("condition: bool")
          .input("t: T")
          .input("e: T")
          .output("output: T")
          .shape(c -> List.of(Shape.broadcast(Shape.broadcast(c.input(0), c.input(1)), c.input(2))))
          .kernel(Select::compute)
          .gradient(Select::gradient)
          .build();

  /**
   * The older op, which does not broadcast: {@code t} and {@code e} have one shape, the condition
   * has that too, or is a scalar, or is a vector that chooses whole rows.
   */
  public static final Op V1 =
      Op.define("Select")
          .attr("T: type")
          .input("condition: bool")
          .input("t: T")
          .input("e: T")
          .output("output: T")
          .shape(Select::inferV1)
          .kernel(Select::computeV1)
          .gradient(
              g -> {
                Output zero = ZerosLike.of(g.scope(), g.dy());
                Output condition = g.input(0);
                g.dx(1, g.scope().add(g.node().op(), condition, g.dy(), zero).output());
                g.dx(2, g.scope().add(g.node().op(), condition, zero, g.dy()).output());
              })
          .build();

  private Select() {}

  /**
   * Elements of {@code t} where {@code condition} is true and of {@code e} where it is false; a
   * condition of one dimension chooses whole rows.
   */
  public static Output of(Scope scope, Output condition, Output t, Output e) {
    return scope.add(OP, condition, t, e).output();
  }

  private static void compute(KernelContext c) {
    Shape s =
        Shape.broadcast(
            Shape.broadcast(c.input(0).shape(), c.input(1).shape()), c.input(2).shape());
    Elementwise.select(c.input(0), c.input(1), c.input(2), c.allocate(0, s));
  }

  private static List<Shape> inferV1(ShapeContext c) {
    Shape s = c.input(1).mergeWith(c.input(2));
    if (c.input(0).hasRank() && s.hasRank()) {
      checkCondition(c.input(0), s);
    }
    return List.of(s);
  }

  private static void checkCondition(Shape condition, Shape s) {
    boolean rows =
        condition.rank() == 1
            && s.rank() > 1
            && (condition.dim(0) < 0 || s.dim(0) < 0 || condition.dim(0) == s.dim(0));
    if (!condition.isScalar() && !rows && !condition.isCompatibleWith(s)) {
      throw MillraceException.invalid(
          "the condition has shape %s; for operands of shape %s it must have that shape, be a"
              + " scalar, or a vector of as many elements as they have rows.",
          condition, s);
    }
  }

  private static void computeV1(KernelContext c) {
    Shape s = c.input(1).shape().mergeWith(c.input(2).shape());
    checkCondition(c.input(0).shape(), s);
    Elementwise.selectRows(c.input(0), c.input(1), c.input(2), c.allocate(0, s));
  }

  private static void gradient(GradientContext g) {
    Scope s = g.scope();
    Output zero = Const.of(s, g.dy().dtype(), 0);
    Output condition = g.input(0);
    Output t = g.input(1);
    Output e = g.input(2);
    Output z = g.output(0);
    g.dx(1, BroadcastGradient.reduce(s, of(s, condition, g.dy(), zero), t, z));
    g.dx(2, BroadcastGradient.reduce(s, of(s, condition, zero, g.dy()), e, z));
  }
}
