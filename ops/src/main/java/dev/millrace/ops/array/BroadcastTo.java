package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/** A tensor repeated along its dimensions of 1, and new ones in front, to fill a shape. */
public final class BroadcastTo {
  public static final Op OP =
      Op.define("BroadcastTo")
          .attr("T: type")
          .attr("Tidx: {int32, int64} = int32")
          .input("input: T")
          .input("shape: Tidx")
          .output("output: T")
          .shape(BroadcastTo::infer)
          .kernel(BroadcastTo::compute)
          .gradient(g -> g.dx(0, BroadcastGradient.reduce(g.scope(), g.dy(), g.input(0), g.dy())))
          .build();

  private BroadcastTo() {}

  /**
   * {@code input} repeated along dimensions of size 1, and along new ones in front, to {@code
   * shape}.
   */
  public static Output of(Scope scope, Output input, Output shape) {
    return scope.add(OP, input, shape).output();
  }

  private static List<Shape> infer(ShapeContext c) {
    Shape in = c.input(0);
    Shape out = c.constantAsShape(1);
    check(in, out);
    if (in.hasRank() && out.hasRank()) {
      // A dimension of more than 1 cannot grow.
      for (int i = 1; i <= in.rank(); i++) {
        out = in.dim(-i) > 1 ? out.withDim(out.rank() - i, in.dim(-i)) : out;
      }
    }
    return List.of(out);
  }

  private static void check(Shape in, Shape out) {
    if (!in.hasRank() || !out.hasRank()) {
      return;
    }
    boolean fits = in.rank() <= out.rank();
    for (int i = 1; fits && i <= in.rank(); i++) {
      long d = in.dim(-i);
      fits = d < 0 || d == 1 || out.dim(-i) < 0 || d == out.dim(-i);
    }
    if (!fits) {
      throw MillraceException.invalid(
          "Incompatible shapes: %s cannot be broadcast to %s; each dimension, from the last, must"
              + " be equal or 1.",
          in, out);
    }
  }

  private static void compute(KernelContext c) {
    Tensor x = c.input(0);
    Shape in = x.shape();
    Shape out = Axis.shape(c.input(1));
    check(in, out);
    if (in.equals(out)) {
      c.output(0, Refs.retain(x));
      return;
    }
    Tensor y = c.allocate(0, out);
    StridedCopy.copy(
        out.dims(), x, 0, StridedCopy.broadcast(in, out), y, 0, StridedCopy.rowMajor(out.dims()));
  }
}
