package dev.millrace.ops.sparse;

import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Gather;
import dev.millrace.ops.array.Range;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.ops.array.Transpose;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/** The same values in the order of their coordinates, row by row; equal ones stay as they were. */
final class SparseReorder {
  static final Op OP =
      Op.define("SparseReorder")
          .attr("T: type")
          .input("input_indices: int64")
          .input("input_values: T")
          .input("input_shape: int64")
          .output("output_indices: int64")
          .output("output_values: T")
          .shape(
              c -> {
                c.inputOfRank(2, 1);
                return List.of(c.inputOfRank(0, 2), c.inputOfRank(1, 1));
              })
          .kernel(SparseReorder::compute)
          .gradient(SparseReorder::gradient)
          .build();

  private SparseReorder() {}

  private static void compute(KernelContext c) {
    Coo in = Coo.of(c, 0);
    int n = Math.toIntExact(in.count());
    long[][] coordinates = new long[n][in.rank()];
    Integer[] order = new Integer[n];
    for (int i = 0; i < n; i++) {
      order[i] = i;
      for (int d = 0; d < in.rank(); d++) {
        coordinates[i][d] = in.at(i, d);
      }
    }
    Arrays.sort(order, Comparator.comparing(i -> coordinates[i], Arrays::compare));
    Tensor indices = c.allocate(0, in.indices().shape());
    Tensor values = c.allocate(1, in.values().shape());
    for (int k = 0; k < n; k++) {
      int i = order[k];
      StridedCopy.copyRun(
          in.indices(), (long) i * in.rank(), indices, (long) k * in.rank(), in.rank());
      StridedCopy.copyRun(in.values(), i, values, k, 1);
    }
  }

  /** Numbers in place of the values tell where each has gone. */
  private static void gradient(GradientContext g) {
    Scope s = g.scope();
    Output count = ShapeOf.size(s, g.input(1));
    Output numbers = Range.of(s, Const.of(s, 0), count, Const.of(s, 1));
    Output order = s.add(OP, g.input(0), numbers, g.input(2)).output(1);
    Output dx = Gather.of(s, g.dy(1), s.add(Transpose.INVERT, order).output());
    dx.refineShape(g.input(1).shape());
    g.dx(1, dx);
  }
}
