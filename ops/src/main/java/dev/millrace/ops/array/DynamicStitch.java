package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
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
 * A tensor put together from rows: row {@code indices[m][i]} is {@code data[m][i]}. Of a row named
 * more than once the last counts; one that is not named is zero.
 */
public final class DynamicStitch {
  public static final Op OP = define("DynamicStitch");

  /** The same for rows that are named once at most. */
  public static final Op PARALLEL = define("ParallelDynamicStitch");

  private DynamicStitch() {}

  private static Op define(String name) {
    return Op.define(name)
        .attr("N: int >= 1")
        .attr("T: type")
        .input("indices: N * int32")
        .input("data: N * T")
        .output("merged: T")
        .shape(DynamicStitch::infer)
        .kernel(DynamicStitch::compute)
        .gradient(DynamicStitch::gradient)
        .build();
  }

  /**
   * One tensor of the slices in {@code data}, each at the place its index says; where an index
   * comes twice, the later slice stays.
   */
  public static Output of(Scope scope, List<Output> indices, List<Output> data) {
    return scope.node(OP).inputs(indices).inputs(data).add().output();
  }

  private static List<Shape> infer(ShapeContext c) {
    int n = c.inputCount() / 2;
    Shape row = Shape.unknown();
    long rows = 0;
    for (int i = 0; i < n; i++) {
      Shape index = c.input(i);
      Shape data = c.input(n + i);
      if (index.hasRank() && data.hasRank()) {
        row = row.mergeWith(rowShape(index, data, i));
      }
      Tensor known = c.constant(i);
      rows = known == null || rows < 0 ? -1 : Math.max(rows, 1 + max(known, i));
    }
    return List.of(Shape.of(rows).concat(row));
  }

  private static Shape rowShape(Shape indices, Shape data, int i) {
    if (indices.rank() > data.rank() || !data.slice(0, indices.rank()).isCompatibleWith(indices)) {
      throw MillraceException.invalid(
          "data[%d].shape = %s does not start with indices[%d].shape = %s", i, data, i, indices);
    }
    return data.slice(indices.rank(), data.rank());
  }

  private static long max(Tensor indices, int which) {
    long max = -1;
    for (long i = 0; i < indices.elements(); i++) {
      long v = indices.longAt(i);
      if (v < 0) {
        throw MillraceException.invalid("indices[%d] holds %d, which is negative.", which, v);
      }
      max = Math.max(max, v);
    }
    return max;
  }

  private static void compute(KernelContext c) {
    int n = c.inputCount() / 2;
    long rows = 0;
    Shape row = null;
    for (int i = 0; i < n; i++) {
      Shape r = rowShape(c.input(i).shape(), c.input(n + i).shape(), i);
      if (row != null && !row.equals(r)) {
        throw MillraceException.invalid(
            "Need data[0].shape[%d:] = data[%d].shape[%d:], got rows of shape %s and %s",
            c.input(0).shape().rank(), i, c.input(i).shape().rank(), row, r);
      }
      row = r;
      rows = Math.max(rows, 1 + max(c.input(i), i));
    }
    Tensor out = c.allocate(0, Shape.of(rows).concat(row));
    ZerosLike.clear(out);
    long length = row.elements();
    for (int i = 0; i < n; i++) {
      Tensor index = c.input(i);
      for (long k = 0; k < index.elements(); k++) {
        StridedCopy.copyRun(c.input(n + i), k * length, out, index.longAt(k) * length, length);
      }
    }
  }

  private static void gradient(GradientContext g) {
    int n = g.node().inputCount() / 2;
    for (int i = 0; i < n; i++) {
      g.dx(n + i, Gather.of(g.scope(), g.dy(), g.input(i)));
    }
  }
}
