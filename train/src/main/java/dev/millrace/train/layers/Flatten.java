package dev.millrace.train.layers;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.Shape;
import java.util.List;

/** Reshapes that keep the batch. */
public final class Flatten {
  private Flatten() {}

  /** One row per example: all dimensions but the first become one. */
  public static Output of(Scope scope, Output x) {
    Scope s = scope.withSubScope("flatten");
    long width = x.shape().hasRank() ? x.shape().slice(1, x.shape().rank()).elements() : -1;
    Output dims =
        width >= 0
            ? Const.ints(s.withName("Reshape/shape"), -1, Math.toIntExact(width))
            : s.node("Pack")
                .inputs(List.of(batch(s, x), Const.of(s.withName("Reshape/shape/1"), -1)))
                .add()
                .output();
    return s.withName("Reshape").node("Reshape").input(x).input(dims).add().output();
  }

  private static Output batch(Scope s, Output x) {
    Output shape = s.node("Shape").input(x).add().output();
    return s.withName("strided_slice")
        .node("StridedSlice")
        .input(shape)
        .input(Const.ints(s.withName("strided_slice/stack"), 0))
        .input(Const.ints(s.withName("strided_slice/stack_1"), 1))
        .input(Const.ints(s.withName("strided_slice/stack_2"), 1))
        .attr("shrink_axis_mask", 1)
        .add()
        .output();
  }

  /** A matrix of the rows of {@code x}: all dimensions but the last become one. */
  static Output rows(Scope s, Output x) {
    int width = Math.toIntExact(x.shape().dim(-1));
    return s.node("Reshape").input(x).input(Const.ints(s, -1, width)).add().output();
  }

  /** A matrix of rows in the shape of {@code like}, but for the last dimension. */
  static Output unrolled(Scope s, Output rows, Output like, int width) {
    Shape lead = like.shape().slice(0, like.shape().rank() - 1);
    long open = java.util.Arrays.stream(lead.dims()).filter(d -> d < 0).count();
    Output dims;
    if (open <= 1) {
      dims = Const.dims(s, lead.concat(Shape.of(width)));
    } else {
      Output leading =
          s.node("Slice")
              .input(s.node("Shape").input(like).add().output())
              .input(Const.ints(s, 0))
              .input(Const.ints(s, lead.rank()))
              .add()
              .output();
      dims =
          s.node("ConcatV2")
              .inputs(List.of(leading, Const.ints(s, width)))
              .input(Const.of(s, 0))
              .add()
              .output();
    }
    return s.node("Reshape").input(rows).input(dims).add().output();
  }
}
