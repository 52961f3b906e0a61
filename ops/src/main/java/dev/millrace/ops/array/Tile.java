package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/** A tensor repeated {@code multiples[i]} times along each dimension i. */
public final class Tile {
  public static final Op OP =
      Op.define("Tile")
          .attr("T: type")
          .attr("Tmultiples: {int32, int64} = int32")
          .input("input: T")
          .input("multiples: Tmultiples")
          .output("output: T")
          .shape(Tile::infer)
          .kernel(Tile::compute)
          .gradient(Tile::gradient)
          .build();

  private Tile() {}

  /** {@code input} repeated so many times along each dimension. */
  public static Output of(Scope scope, Output input, Output multiples) {
    return scope.add(OP, input, multiples).output();
  }

  /** Adds {@code input} repeated by constant multiples. */
  public static Output of(Scope scope, Output input, int... multiples) {
    return of(scope, input, Const.ints(scope, multiples));
  }

  private static List<Shape> infer(ShapeContext c) {
    Shape in = c.input(0);
    Shape m = c.constantAsShape(1);
    if (!in.hasRank() && !m.hasRank()) {
      return List.of(Shape.unknown());
    }
    in = in.hasRank() ? in : Shape.unknownOfRank(m.rank());
    m = m.hasRank() ? m : Shape.unknownOfRank(in.rank());
    return List.of(tiled(in, m.dims()));
  }

  private static Shape tiled(Shape in, long[] multiples) {
    if (multiples.length != in.rank()) {
      throw MillraceException.invalid(
          "Expected multiples argument to be a vector of length %d but got length %d",
          in.rank(), multiples.length);
    }
    long[] d = new long[multiples.length];
    for (int i = 0; i < d.length; i++) {
      boolean none = multiples[i] == 0 || in.dim(i) == 0;
      boolean known = none || (multiples[i] > 0 && in.dim(i) > 0);
      d[i] = known ? Math.multiplyExact(in.dim(i), multiples[i]) : Shape.UNKNOWN;
    }
    return Shape.of(d);
  }

  private static void compute(KernelContext c) {
    Tensor x = c.input(0);
    Shape in = x.shape();
    Shape multiples = Axis.shape(c.input(1));
    Shape out = tiled(in, multiples.dims());
    if (out.equals(in)) {
      c.output(0, Refs.retain(x));
      return;
    }
    Tensor y = c.allocate(0, out);
    // Two dimensions for each: which copy, and where in it.
    int r = in.rank();
    long[] from = StridedCopy.rowMajor(in.dims());
    long[] to = StridedCopy.rowMajor(out.dims());
    long[] dims = new long[2 * r];
    long[] src = new long[2 * r];
    long[] dst = new long[2 * r];
    for (int i = 0; i < r; i++) {
      dims[2 * i] = multiples.dim(i);
      dims[2 * i + 1] = in.dim(i);
      src[2 * i + 1] = from[i];
      dst[2 * i] = to[i] * in.dim(i);
      dst[2 * i + 1] = to[i];
    }
    StridedCopy.copy(dims, x, 0, src, y, 0, dst);
  }

  /** Adds up the copies: as {@code [m0, d0, m1, d1, ...]}, over the even dimensions. */
  private static void gradient(GradientContext g) {
    Scope s = g.scope();
    Output x = g.input(0);
    Output multiples = MathNodes.cast(s, g.input(1), DType.INT32);
    Output both = Pack.of(s, List.of(multiples, ShapeOf.of(s, x)), 1);
    Output interleaved = Reshape.of(s, both, Const.ints(s, -1));
    Output twice = ShapeOf.size(s, interleaved);
    Output axes = Range.of(s, Const.of(s, 0), twice, Const.of(s, 2));
    Output dx = MathNodes.sum(s, Reshape.of(s, g.dy(), interleaved), axes, false);
    dx.refineShape(x.shape());
    g.dx(0, dx);
  }
}
