package dev.millrace.ops.array;

import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.util.List;

/**
 * What goes back through a gather: each slice is added where it came from. Along the first
 * dimension that is a gradient of a few rows; along another the dimension is brought to the front,
 * the slices are added up, and it is brought back.
 */
final class GatherGradient {
  private GatherGradient() {}

  static void of(GradientContext g) {
    Tensor axis = new ShapeContext(g.node()).constant(2);
    if (axis != null && axis.longAt(0) == 0 && g.node().longAttr("batch_dims") == 0) {
      rows(g);
    } else {
      dense(g);
    }
  }

  /** Rows and where they belong, without making them a tensor of the whole shape. */
  static void rows(GradientContext g) {
    Scope s = g.scope();
    Output params = g.input(0);
    Output shape = ShapeOf.known(s, params);
    Output rowShape = StridedSlice.range(s, shape, 1, null);
    Output flat = Const.ints(s, -1);
    Output indices = Reshape.of(s, g.input(1), flat);
    Output count = ShapeOf.size(s, indices);
    Output valuesShape = Concat.of(s, List.of(ExpandDims.of(s, count, 0), rowShape), 0);
    g.dxRows(0, Reshape.of(s, g.dy(), valuesShape), indices, shape);
  }

  /**
   * With the shape of params as {@code batch, before, dim, after} and that of the indices as {@code
   * batch, rest}: dy is {@code batch, before, rest, after}.
   */
  private static void dense(GradientContext g) {
    Scope s = g.scope();
    Output params = g.input(0);
    Output indices = g.input(1);
    Output shape = ShapeOf.known(s, params);
    Output rank = ShapeOf.rank(s, params);
    Output given = MathNodes.cast(s, g.input(2), DType.INT32);
    Output axis = MathNodes.floorMod(s, MathNodes.add(s, given, rank), rank);
    Output batchDims = batchDims(s, g);
    Output zero = Const.of(s, 0);
    Output next = MathNodes.add(s, axis, Const.of(s, 1));
    Output batch = part(s, shape, zero, batchDims);
    Output before = part(s, shape, batchDims, axis);
    Output dim = part(s, shape, axis, next);
    Output after = part(s, shape, next, rank);
    Output batches = product(s, batch);

    // dy as [batch, before, all of rest, after], then with rest moved in front of before.
    Output rest = part(s, ShapeOf.of(s, indices), batchDims, ShapeOf.rank(s, indices));
    Output count = product(s, rest);
    Output dy = Reshape.of(s, g.dy(), Concat.of(s, List.of(batch, before, count, after), 0));
    Output order =
        Concat.of(
            s,
            List.of(
                range(s, zero, batchDims),
                ExpandDims.of(s, axis, 0),
                range(s, batchDims, axis),
                range(s, next, rank)),
            0);
    Output slices = Transpose.of(s, dy, order);
    Output all = MathNodes.mul(s, batches, count);
    Output table = Reshape.of(s, slices, Concat.of(s, List.of(all, before, after), 0));

    // Indices count on from one batch to the next.
    Output wide =
        indices.dtype() == DType.INT64 ? indices : MathNodes.cast(s, indices, DType.INT32);
    Output byBatch = Reshape.of(s, wide, Concat.of(s, List.of(batches, count), 0));
    Output numbers = range(s, zero, Squeeze.of(s, batches, 0));
    Output offsets = MathNodes.cast(s, MathNodes.mul(s, numbers, dim), wide.dtype());
    Output places = MathNodes.add(s, byBatch, ExpandDims.of(s, offsets, 1));
    Output flat = Reshape.of(s, places, Const.ints(s, -1));

    Output number = Squeeze.of(s, MathNodes.mul(s, batches, dim), 0);
    Output sum = SegmentSum.unsorted(s, table, flat, number);
    Output whole = Reshape.of(s, sum, Concat.of(s, List.of(batch, dim, before, after), 0));
    Output back = Transpose.of(s, whole, Transpose.invert(s, order));
    back.refineShape(params.shape());
    g.dx(0, back);
  }

  private static Output batchDims(Scope s, GradientContext g) {
    int dims = g.node().intAttr("batch_dims");
    Output given = Const.of(s, dims);
    return dims >= 0 ? given : MathNodes.add(s, ShapeOf.rank(s, g.input(1)), given);
  }

  /** {@code shape[from:to]}. */
  private static Output part(Scope s, Output shape, Output from, Output to) {
    Output begin = ExpandDims.of(s, from, 0);
    Output end = ExpandDims.of(s, to, 0);
    return s.add(StridedSlice.OP, shape, begin, end, Const.ints(s, 1)).output();
  }

  /** The product of a vector, as a vector of one. */
  private static Output product(Scope s, Output vector) {
    return MathNodes.prod(s, vector, Const.ints(s, 0), true);
  }

  private static Output range(Scope s, Output from, Output to) {
    return Range.of(s, from, to, Const.of(s, 1));
  }
}
