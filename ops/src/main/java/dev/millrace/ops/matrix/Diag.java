package dev.millrace.ops.matrix;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.ZerosLike;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/**
 * A tensor as the diagonal of one of twice as many dimensions, {@code y[i, j, i, j] = x[i, j]}, and
 * back.
 */
final class Diag {
  private static final String TYPES =
      "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}";

  static final Op OP =
      Op.define("Diag")
          .attr(TYPES)
          .input("diagonal: T")
          .output("output: T")
          .shape(c -> List.of(twice(c.input(0))))
          .kernel(Diag::spread)
          .gradient(g -> g.dx(0, part(g.scope(), g.dy())))
          .build();

  static final Op PART =
      Op.define("DiagPart")
          .attr(TYPES)
          .input("input: T")
          .output("diagonal: T")
          .shape(c -> List.of(half(c.input(0))))
          .kernel(Diag::gather)
          .gradient(g -> g.dx(0, g.scope().add(OP, g.dy()).output()))
          .build();

  private Diag() {}

  private static Output part(Scope scope, Output x) {
    return scope.add(PART, x).output();
  }

  private static Shape twice(Shape s) {
    return s.hasRank() ? s.concat(s) : s;
  }

  private static Shape half(Shape s) {
    if (!s.hasRank()) {
      return s;
    }
    if (s.rank() % 2 != 0 || s.rank() == 0) {
      throw MillraceException.invalid(
          "Input must have even and non-zero rank, input rank is %d", s.rank());
    }
    Shape first = s.slice(0, s.rank() / 2);
    Shape second = s.slice(s.rank() / 2, s.rank());
    if (!first.isCompatibleWith(second)) {
      throw MillraceException.invalid(
          "Invalid shape, %s: the second half of its dimensions must be as the first", s);
    }
    return first.mergeWith(second);
  }

  private static void spread(KernelContext c) {
    Tensor x = c.input(0);
    if (x.shape().rank() == 0) {
      throw MillraceException.invalid("Input must be at least rank 1, got 0");
    }
    Tensor y = c.allocate(0, twice(x.shape()));
    ZerosLike.clear(y);
    for (long i = 0; i < x.elements(); i++) {
      StridedCopy.copyRun(x, i, y, i * (x.elements() + 1), 1);
    }
  }

  private static void gather(KernelContext c) {
    Tensor x = c.input(0);
    Tensor y = c.allocate(0, half(x.shape()));
    for (long i = 0; i < y.elements(); i++) {
      StridedCopy.copyRun(x, i * (y.elements() + 1), y, i, 1);
    }
  }
}
