package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/** The slices of {@code params} at coordinates: each row of {@code indices} is one. */
public final class GatherNd {
  public static final Op OP =
      Op.define("GatherNd")
          .attr("Tparams: type")
          .attr("Tindices: {int16, int32, int64}")
          .attr("bad_indices_policy: string = ''")
          .input("params: Tparams")
          .input("indices: Tindices")
          .output("output: Tparams")
          .shape(c -> List.of(shape(c.input(0), c.input(1))))
          .kernelPerNode(GatherNd::kernel)
          .gradient(GatherNd::gradient)
          .build();

  private GatherNd() {}

  /** The elements or slices of {@code params} whose coordinates are the rows of {@code indices}. */
  public static Output of(Scope scope, Output params, Output indices) {
    return scope.add(OP, params, indices).output();
  }

  /** The shape of what is gathered, as far as it is known. */
  public static Shape shape(Shape params, Shape indices) {
    boolean known = params.hasRank() && indices.hasRank() && indices.rank() > 0;
    return known && indices.dim(-1) >= 0 ? gathered(params, indices) : Shape.unknown();
  }

  private static Shape gathered(Shape params, Shape indices) {
    if (params.rank() < 1 || indices.rank() < 1) {
      throw MillraceException.invalid(
          "params and indices must be at least vectors; they are %s and %s.", params, indices);
    }
    if (indices.dim(-1) > params.rank()) {
      throw MillraceException.invalid(
          "index innermost dimension length must be <= params rank; saw: %d vs. %d",
          indices.dim(-1), params.rank());
    }
    int depth = (int) indices.dim(-1);
    return indices.slice(0, indices.rank() - 1).concat(params.slice(depth, params.rank()));
  }

  private static Kernel kernel(Node node) {
    boolean ignore = Coordinates.ignoresBad(node);
    return c -> compute(c, c.input(0), c.input(1), ignore);
  }

  /**
   * Sets output 0 to the slices of {@code params}; those at coordinates outside are zero or, unless
   * {@code ignore}, an error.
   */
  public static void compute(KernelContext c, Tensor params, Tensor indices, boolean ignore) {
    Tensor out = c.allocate(0, gathered(params.shape(), indices.shape()));
    Coordinates at = new Coordinates(indices, params.shape());
    for (long i = 0; i < at.count(); i++) {
      long row = at.row(i);
      if (row >= 0) {
        StridedCopy.copyRun(params, row * at.length(), out, i * at.length(), at.length());
      } else if (ignore) {
        ZerosLike.clear(out, i * at.length(), at.length());
      } else {
        throw at.outside(i, "param");
      }
    }
  }

  private static void gradient(GradientContext g) {
    Scope s = g.scope();
    Shape coordinates = g.input(1).shape();
    if (coordinates.rank() == 2 && coordinates.dim(1) == 1) {
      Output rows = Squeeze.of(s, g.input(1), -1);
      g.dxRows(0, g.dy(), rows, ShapeOf.known(s, g.input(0)));
      return;
    }
    Output shape = Coordinates.shapeFor(s, g.input(0), g.input(1));
    Output dx = ScatterNd.of(s, g.input(1), g.dy(), shape);
    dx.refineShape(g.input(0).shape());
    g.dx(0, dx);
  }
}
