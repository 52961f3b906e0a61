package dev.millrace.train.layers;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Select;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.ops.flow.Conditional;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.ops.random.RandomNumbers;
import dev.millrace.train.variable.Seeds;
import java.util.List;

/**
 * Drops a random share of the elements, another one in each step, and scales up the rest to make up
 * for it. For training only.
 */
public final class Dropout {
  private Dropout() {}

  /** Drops the share {@code rate} of the elements of {@code x}. */
  public static Output of(Scope scope, Output x, float rate) {
    if (!(rate >= 0 && rate < 1)) {
      throw MillraceException.invalid(
          "A dropout rate must be at least 0 and below 1, not %s.", rate);
    }
    if (rate == 0) {
      return x;
    }
    Scope s = scope.withSubScope("dropout");
    Output scale = Const.of(s, x.dtype(), 1 / (1 - rate));
    Output scaled = Arithmetic.mul(s, x, scale);
    long[] seeds = Seeds.of(s.graph(), null);
    Output random =
        RandomNumbers.of(
            s.withSubScope("random_uniform"),
            RandomNumbers.UNIFORM,
            x.dtype(),
            ShapeOf.of(s, x),
            seeds[0],
            seeds[1]);
    Output kept =
        Comparisons.greaterEqual(
            s, random, Const.of(s.withName("GreaterEqual/y"), x.dtype(), rate));
    return Select.of(s, kept, scaled, Const.of(s, x.dtype(), 0));
  }

  /**
   * Adds dropout that is active if {@code training}, a bool, is true; otherwise the result is
   * {@code x}.
   */
  public static Output of(Scope scope, Output x, float rate, Output training) {
    return Conditional.of(
            scope,
            training,
            List.of(x),
            (s, in) -> List.of(of(s, in.getFirst(), rate)),
            (s, in) -> in)
        .getFirst();
  }
}
