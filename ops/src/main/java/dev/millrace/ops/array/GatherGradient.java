package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.op.GradientContext;
import dev.millrace.graph.op.ShapeContext;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.math.Reduction;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
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
    long batch = g.node().longAttr("batch_dims");
    if (axis != null && axis.longAt(0) == 0 && batch == 0) {
      rows(g);
      return;
    }
    if (axis == null || !g.input(0).shape().hasRank() || !g.input(1).shape().hasRank()) {
      throw MillraceException.invalid(
          "The gradient of %s '%s' needs a constant axis and inputs of known rank; they are %s and"
              + " %s.",
          g.node().op().name(), g.node().name(), g.input(0), g.input(1));
    }
    int at = Axis.of(axis, g.input(0).shape().rank());
    long dims = batch < 0 ? batch + g.input(1).shape().rank() : batch;
    dense(g, at, (int) dims);
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
  private static void dense(GradientContext g, int axis, int batch) {
    Scope s = g.scope();
    Output params = g.input(0);
    int rank = params.shape().rank();
    Output shape = ShapeOf.known(s, params);
    Output batchShape = part(s, shape, 0, batch);
    Output before = part(s, shape, batch, axis);
    Output dim = StridedSlice.at(s, shape, axis);
    Output after = part(s, shape, axis + 1, rank);
    Output any = Const.ints(s, -1);

    // dy as [batch..., before..., all of rest, after...], then rest moved before "before".
    Output rest = ShapeOf.of(s, g.input(1));
    Output count = Reduction.of(s, Reduction.PROD, part(s, rest, batch, -1), zero(s), true);
    Output dy = Reshape.of(s, g.dy(), Concat.of(s, List.of(batchShape, before, count, after), 0));
    Output slices = Transpose.of(s, dy, moved(axis, batch, rank));
    Output table =
        Reshape.of(
            s,
            slices,
            Concat.of(
                s,
                List.of(
                    Reduction.of(
                        s,
                        Reduction.PROD,
                        Concat.of(s, List.of(batchShape, count), 0),
                        zero(s),
                        true),
                    before,
                    after),
                0));

    // Indices count on from one batch to the next.
    Output batches = Reduction.of(s, Reduction.PROD, batchShape, zero(s), false);
    Output indices =
        Cast.of(
            s, g.input(1), g.input(1).dtype() == DType.INT16 ? DType.INT32 : g.input(1).dtype());
    Output byBatch = Reshape.of(s, indices, Pack.of(s, List.of(batches, neg(s))));
    Output offsets = Arithmetic.mul(s, Range.of(s, batches), dim);
    Output column = ExpandDims.of(s, Cast.of(s, offsets, indices.dtype()), 1);
    Output places = Reshape.of(s, Arithmetic.add(s, byBatch, column), any);

    Output sum = SegmentSum.unsorted(s, table, places, Arithmetic.mul(s, batches, dim));
    Output whole =
        Reshape.of(
            s, sum, Concat.of(s, List.of(batchShape, ExpandDims.of(s, dim, 0), before, after), 0));
    Output back = Transpose.of(s, whole, movedBack(axis, batch, rank));
    back.refineShape(params.shape());
    g.dx(0, back);
  }

  private static Output zero(Scope s) {
    return Const.ints(s, 0);
  }

  private static Output neg(Scope s) {
    return Const.of(s, -1);
  }

  /** {@code shape[from:to]}; -1 means to the end. */
  private static Output part(Scope s, Output shape, int from, int to) {
    return StridedSlice.range(s, shape, from, to < 0 ? null : to);
  }

  /** The dimensions with {@code axis} moved to {@code batch}. */
  private static int[] moved(int axis, int batch, int rank) {
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < rank; i++) {
      order.add(i);
    }
    order.add(batch, order.remove(axis));
    return order.stream().mapToInt(Integer::intValue).toArray();
  }

  private static int[] movedBack(int axis, int batch, int rank) {
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < rank; i++) {
      order.add(i);
    }
    order.add(axis, order.remove(batch));
    return order.stream().mapToInt(Integer::intValue).toArray();
  }
}
