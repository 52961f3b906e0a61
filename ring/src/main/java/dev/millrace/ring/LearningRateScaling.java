package dev.millrace.ring;

import dev.millrace.collective.Ring;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.tensor.DType;
import dev.millrace.train.variable.GraphVariable;

/**
 * Learning rates for batches that are larger by the number of ranks. The usual rule is to multiply
 * the rate by that number, but not at once (Goyal et al., "Accurate, large minibatch SGD", 2017).
 */
public final class LearningRateScaling {
  private LearningRateScaling() {}

  /** {@code rate} times the number of ranks. */
  public static float scaled(Ring ring, float rate) {
    return rate * ring.size();
  }

  /**
   * Adds a rate that grows evenly from {@code rate} at step 0 to {@link #scaled} at {@code
   * warmUpSteps}, and stays there.
   */
  public static Output warmUp(
      Scope scope, Ring ring, float rate, GraphVariable step, long warmUpSteps) {
    Scope s = scope.withSubScope("WarmUp");
    Output done = Cast.of(s, step.read(), DType.FLOAT);
    Output share =
        Arithmetic.minimum(
            s, Arithmetic.scaled(s, done, 1.0 / Math.max(1, warmUpSteps)), Const.of(s, 1f));
    Output growth = Arithmetic.scaled(s, share, rate * (ring.size() - 1));
    return Arithmetic.add(s.asNode(), Const.of(s, rate), growth);
  }
}
