package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/**
 * Matrices with everything set to zero but a band: the diagonal, {@code num_lower} lines below and
 * {@code num_upper} lines above it; a negative number means all.
 */
public final class MatrixBandPart {
  public static final Op OP =
      Op.define("MatrixBandPart")
          .attr("T: type")
          .attr("Tindex: {int32, int64} = int64")
          .input("input: T")
          .input("num_lower: Tindex")
          .input("num_upper: Tindex")
          .output("band: T")
          .shape(MatrixBandPart::infer)
          .kernel(MatrixBandPart::compute)
          .gradient(g -> g.dx(0, of(g.scope(), g.dy(), g.input(1), g.input(2))))
          .build();

  private MatrixBandPart() {}

  /**
   * Matrices with only {@code lower} diagonals below the main one and {@code upper} above it left;
   * the rest is 0. A negative number leaves all.
   */
  public static Output of(Scope scope, Output input, Output lower, Output upper) {
    return scope.add(OP, input, lower, upper).output();
  }

  private static List<Shape> infer(ShapeContext c) {
    check(c.input(0));
    return List.of(c.input(0));
  }

  private static void check(Shape s) {
    if (s.hasRank() && s.rank() < 2) {
      throw MillraceException.invalid("input must be at least 2-dim, received shape: %s", s);
    }
  }

  private static void compute(KernelContext c) {
    Tensor x = c.input(0);
    Shape s = x.shape();
    check(s);
    long rows = s.dim(-2);
    long columns = s.dim(-1);
    long lower = lines(c.input(1), "num_lower", rows);
    long upper = lines(c.input(2), "num_upper", columns);
    Tensor y = c.allocate(0, s);
    ZerosLike.clear(y);
    for (long row = 0; columns > 0 && row < x.elements() / columns; row++) {
      long i = row % rows;
      long from = Math.max(0, i - lower);
      long to = Math.min(columns, i + upper + 1);
      if (from < to) {
        StridedCopy.copyRun(x, row * columns + from, y, row * columns + from, to - from);
      }
    }
  }

  private static long lines(Tensor t, String name, long size) {
    if (!t.shape().isScalar()) {
      throw MillraceException.invalid("%s must be scalar, got shape %s", name, t.shape());
    }
    long n = t.longAt(0);
    if (n > size) {
      throw MillraceException.invalid(
          "%s must be negative or less or equal to the size of its dimension, %d; got %d",
          name, size, n);
    }
    return n < 0 ? size : n;
  }
}
