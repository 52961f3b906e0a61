package dev.millrace.ops.array;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.Shape;
import java.util.ArrayList;
import java.util.List;

/**
 * Brings a gradient that has the shape of a broadcast result back to the shape of one operand: what
 * was repeated on the way there is summed on the way back.
 *
 * <p>Which dimensions those are is worked out now where the shapes allow it, and left to {@link
 * BroadcastGradientArgs} where they do not.
 */
public final class BroadcastGradient {
  private BroadcastGradient() {}

  /** {@code dx} in the shape of {@code x}, which was broadcast against {@code other}. */
  public static Output reduce(Scope scope, Output dx, Output x, Output other) {
    return reduce(scope, dx, x, other, 0);
  }

  /**
   * Reduces {@code dx} to the shape of {@code x} when the last {@code tail} dimensions were not
   * broadcast, such as those of a matrix.
   */
  public static Output reduce(Scope scope, Output dx, Output x, Output other, int tail) {
    int[] axes = axes(x.shape(), other.shape(), tail);
    if (axes != null && axes.length == 0) {
      return dx;
    }
    Output over =
        axes != null
            ? Const.ints(scope, axes)
            : scope
                .add(BroadcastGradientArgs.OP, head(scope, x, tail), head(scope, other, tail))
                .output(0);
    Output sum = MathNodes.sum(scope, dx, over, false);
    Output reduced = Reshape.of(scope, sum, ShapeOf.known(scope, x));
    reduced.refineShape(x.shape());
    return reduced;
  }

  private static Output head(Scope scope, Output x, int tail) {
    Output shape = ShapeOf.of(scope, x);
    return tail == 0 ? shape : StridedSlice.range(scope, shape, null, -tail);
  }

  /** The dimensions of the result to sum over, or null if that is not known yet. */
  private static int[] axes(Shape x, Shape other, int tail) {
    if (!x.hasRank() || !other.hasRank()) {
      return null;
    }
    int rank = Math.max(x.rank(), other.rank());
    List<Integer> axes = new ArrayList<>();
    for (int i = rank; i > tail; i--) {
      long a = i <= x.rank() ? x.dim(-i) : 0;
      long b = i <= other.rank() ? other.dim(-i) : 1;
      if (a == 1 ? b != 1 : i > x.rank()) {
        axes.add(rank - i);
      } else if (a == Shape.UNKNOWN && b != 1) {
        return null;
      }
    }
    return axes.stream().mapToInt(Integer::intValue).toArray();
  }
}
