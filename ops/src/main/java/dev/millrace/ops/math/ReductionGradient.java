package dev.millrace.ops.math;

import static dev.millrace.ops.math.Arithmetic.mul;
import static dev.millrace.ops.math.Arithmetic.realDiv;

import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.BroadcastTo;
import dev.millrace.ops.array.Concat;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.DynamicStitch;
import dev.millrace.ops.array.ListDiff;
import dev.millrace.ops.array.OnesLike;
import dev.millrace.ops.array.Pack;
import dev.millrace.ops.array.Range;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.ops.array.Transpose;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** What goes back through a reduction: each element gets its share of what it went into. */
final class ReductionGradient {
  private ReductionGradient() {}

  /** The gradient of the result, repeated to the shape of the input: all there is to a sum. */
  static Output spread(GradientContext g) {
    Scope s = g.scope();
    Output x = g.input(0);
    Output dx = BroadcastTo.of(s, kept(g, g.dy()), ShapeOf.known(s, x));
    dx.refineShape(x.shape());
    return dx;
  }

  static void ofMean(GradientContext g) {
    Scope s = g.scope();
    Output x = g.input(0);
    Shape in = x.shape();
    Shape out = g.output(0).shape();
    Output count;
    if (in.isKnown() && out.isKnown()) {
      long each = in.elements() / Math.max(1, out.elements());
      count = Const.of(s, x.dtype(), (double) each);
    } else {
      Output size = ShapeOf.size(s, x);
      if (out.elements() != 1) {
        Output results = ShapeOf.size(s, g.output(0));
        size = Arithmetic.floorDiv(s, size, Arithmetic.maximum(s, results, Const.of(s, 1)));
      }
      count = Cast.of(s, size, x.dtype());
    }
    g.dx(0, realDiv(s, spread(g), count));
  }

  /** Those that are the extremum share the gradient equally. */
  static void ofExtremum(GradientContext g) {
    Scope s = g.scope();
    Output x = g.input(0);
    Output is = Comparisons.equal(s, kept(g, g.output(0)), x);
    Output chosen = Cast.of(s, is, x.dtype());
    Output number = Reduction.sum(s, chosen, g.input(1), true);
    g.dx(0, mul(s, realDiv(s, chosen, number), kept(g, g.dy())));
  }

  /**
   * The product of all others, which is not the product divided by one's own where there are zeros:
   * those before times those after, with the reduced dimensions joined into one.
   */
  static void ofProd(GradientContext g) {
    Scope s = g.scope();
    Output x = g.input(0);
    Output reduced = axes(s, g);
    Output others = ListDiff.of(s, Range.of(s, ShapeOf.rank(s, x)), reduced);
    Output order = Concat.of(s, List.of(reduced, others), 0);
    Output front = Transpose.of(s, x, order);
    Output rest = ShapeOf.size(s, g.output(0));
    Output table = Reshape.of(s, front, Pack.of(s, List.of(rows(s, g), rest)));
    Output before = Cumulative.prod(s, table, 0, true, false);
    Output after = Cumulative.prod(s, table, 0, true, true);
    Output product = Reshape.of(s, mul(s, before, after), ShapeOf.known(s, front));
    Output back = Transpose.of(s, product, s.add(Transpose.INVERT, order).output());
    Output dx = mul(s, kept(g, g.dy()), ComplexParts.conj(s, back));
    dx.refineShape(x.shape());
    g.dx(0, dx);
  }

  /** How many elements go into each result. */
  private static Output rows(Scope s, GradientContext g) {
    Output results = ShapeOf.size(s, g.output(0));
    return Arithmetic.floorDiv(
        s, ShapeOf.size(s, g.input(0)), Arithmetic.maximum(s, results, Const.of(s, 1)));
  }

  /** {@code reduced} with the dimensions that went away put back with size 1. */
  private static Output kept(GradientContext g, Output reduced) {
    if (g.node().booleanAttr("keep_dims")) {
      return reduced;
    }
    Scope s = g.scope();
    Shape in = g.input(0).shape();
    Tensor axes = new ShapeContext(g.node()).constant(1);
    if (axes != null && in.hasRank()) {
      Shape kept = Reduction.reduced(in, Reduction.axes(in.rank(), axes), true);
      long unknown = java.util.Arrays.stream(kept.dims()).filter(d -> d < 0).count();
      if (unknown <= 1 && (unknown == 0 || kept.withDim(firstUnknown(kept), 1).elements() != 0)) {
        return Reshape.of(s, reduced, kept);
      }
    }
    return Reshape.of(s, reduced, keptShape(s, g));
  }

  private static int firstUnknown(Shape s) {
    int i = 0;
    while (s.dim(i) >= 0) {
      i++;
    }
    return i;
  }

  /** The shape of the input with 1 in place of what is reduced, worked out in the graph. */
  private static Output keptShape(Scope s, GradientContext g) {
    Output shape = ShapeOf.of(s, g.input(0));
    Output axes = axes(s, g);
    Output every = Range.of(s, ShapeOf.size(s, shape));
    return DynamicStitch.of(s, List.of(every, axes), List.of(shape, OnesLike.of(s, axes)));
  }

  /** The dimensions reduced, as a vector of int32 that are not negative. */
  private static Output axes(Scope s, GradientContext g) {
    Output rank = ShapeOf.rank(s, g.input(0));
    Output given = Reshape.of(s, Cast.of(s, g.input(1), DType.INT32), Const.ints(s, -1));
    return Arithmetic.floorMod(s, Arithmetic.add(s, given, rank), rank);
  }
}
