package dev.millrace.train.optimizer;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Gather;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.ops.math.Unary;

/** Gradients by rows in which no row stands twice: what belongs to the same row is added up. */
public final class DistinctRows {
  private DistinctRows() {}

  /** The rows in the order in which each first came. */
  static Grad.Rows of(Scope scope, Grad.Rows rows) {
    Node unique = scope.node("Unique").input(rows.indices()).add();
    Output summed =
        scope
            .node("UnsortedSegmentSum")
            .input(rows.values())
            .input(unique.output(1))
            .input(length(scope, unique.output(0)))
            .add()
            .output();
    return new Grad.Rows(summed, unique.output(0), rows.denseShape());
  }

  /** The rows in ascending order, as accumulators of them need it. */
  public static Grad.Rows sorted(Scope scope, Grad.Rows rows) {
    Grad.Rows once = of(scope, rows);
    Output order =
        scope
            .node("TopKV2")
            .input(Unary.neg(scope, once.indices()))
            .input(ShapeOf.size(scope, once.indices()))
            .add()
            .output(1);
    return new Grad.Rows(
        Gather.of(scope, once.values(), order),
        Gather.of(scope, once.indices(), order),
        rows.denseShape());
  }

  private static Output length(Scope scope, Output vector) {
    return scope
        .withName("strided_slice")
        .node("StridedSlice")
        .input(scope.node("Shape").input(vector).add().output())
        .input(Const.ints(scope.withName("strided_slice/stack"), 0))
        .input(Const.ints(scope.withName("strided_slice/stack_1"), 1))
        .input(Const.ints(scope.withName("strided_slice/stack_2"), 1))
        .attr("shrink_axis_mask", 1)
        .add()
        .output();
  }
}
