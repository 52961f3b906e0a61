package dev.millrace.train.layers;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Concat;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Pack;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.ops.array.StridedSlice;
import dev.millrace.tensor.Shape;
import java.util.Arrays;
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
            : Pack.of(
                s,
                List.of(
                    StridedSlice.at(s, ShapeOf.of(s, x), 0),
                    Const.of(s.withName("Reshape/shape/1"), -1)));
    return Reshape.of(s, x, dims);
  }

  /** A matrix of the rows of {@code x}: all dimensions but the last become one. */
  static Output rows(Scope s, Output x) {
    return Reshape.of(s, x, Shape.of(-1, x.shape().dim(-1)));
  }

  /** A matrix of rows in the shape of {@code like}, but for the last dimension. */
  static Output unrolled(Scope s, Output rows, Output like, int width) {
    Shape lead = like.shape().slice(0, like.shape().rank() - 1);
    if (Arrays.stream(lead.dims()).filter(d -> d < 0).count() <= 1) {
      return Reshape.of(s, rows, lead.concat(Shape.of(width)));
    }
    Output leading = StridedSlice.range(s, ShapeOf.of(s, like), 0, lead.rank());
    return Reshape.of(s, rows, Concat.of(s, List.of(leading, Const.ints(s, width)), 0));
  }
}
