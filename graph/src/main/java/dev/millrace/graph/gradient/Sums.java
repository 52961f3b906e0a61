package dev.millrace.graph.gradient;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Adds gradients up. */
final class Sums {
  private Sums() {}

  /** The sum of some gradients; of rows alone, rows. */
  static Grad of(Scope scope, List<Grad> parts) {
    if (parts.size() == 1) {
      return parts.getFirst();
    }
    if (parts.stream().allMatch(Grad.Rows.class::isInstance)) {
      List<Grad.Rows> rows = parts.stream().map(Grad.Rows.class::cast).toList();
      return new Grad.Rows(
          concat(scope, rows.stream().map(Grad.Rows::values).toList()),
          concat(scope, rows.stream().map(Grad.Rows::indices).toList()),
          rows.getFirst().denseShape());
    }
    List<Output> dense = parts.stream().map(p -> dense(scope, p)).toList();
    return new Grad.Dense(scope.node("AddN").inputs(dense).add().output());
  }

  private static Output concat(Scope scope, List<Output> parts) {
    return scope
        .node("ConcatV2")
        .inputs(parts)
        .input(constant(scope, Tensor.scalar(0)))
        .add()
        .output();
  }

  /** A gradient as one tensor; rows are added into zeros of the whole shape. */
  static Output dense(Scope scope, Grad g) {
    return switch (g) {
      case Grad.Dense d -> d.value();
      case Grad.Rows r -> {
        Output first =
            scope
                .node("StridedSlice")
                .input(r.denseShape())
                .input(constant(scope, Tensor.vector(0)))
                .input(constant(scope, Tensor.vector(1)))
                .input(constant(scope, Tensor.vector(1)))
                .attr("shrink_axis_mask", 1)
                .add()
                .output();
        yield scope
            .node("UnsortedSegmentSum")
            .input(r.values())
            .input(r.indices())
            .input(first)
            .add()
            .output();
      }
      case Grad.None n ->
          throw MillraceException.invalid(
              "There is no gradient: what was differentiated does not depend on this value."
                  + " Ask whether it is a Grad.None first.");
    };
  }

  static Output constant(Scope scope, Tensor t) {
    return scope.node("Const").attr("value", t).attr("dtype", t.dtype()).add().output();
  }
}
