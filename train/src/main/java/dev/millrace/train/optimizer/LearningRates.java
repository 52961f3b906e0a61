package dev.millrace.train.optimizer;

import static dev.millrace.ops.math.Arithmetic.add;
import static dev.millrace.ops.math.Arithmetic.mul;
import static dev.millrace.ops.math.Arithmetic.pow;
import static dev.millrace.ops.math.Arithmetic.realDiv;
import static dev.millrace.ops.math.Arithmetic.sub;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Select;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.ops.math.Unary;
import dev.millrace.tensor.DType;
import dev.millrace.train.variable.GraphVariable;

/**
 * Learning rates that change with the number of steps done. Each is a float computed in the graph,
 * from a step counter such as {@link dev.millrace.train.GlobalStep}, to be handed to an optimizer.
 */
public final class LearningRates {
  private LearningRates() {}

  /**
   * {@code rate * decay ^ (step / decaySteps)}; with {@code staircase} the exponent is cut to an
   * integer.
   */
  public static Output exponentialDecay(
      Scope scope,
      float rate,
      GraphVariable step,
      long decaySteps,
      float decay,
      boolean staircase) {
    Scope s = scope.withSubScope("ExponentialDecay");
    Output p = progress(s, step, decaySteps, staircase);
    return mul(s.asNode(), constant(s, rate), pow(s, constant(s, decay), p));
  }

  /** {@code rate * exp(-decay * step / decaySteps)}. */
  public static Output naturalExponentialDecay(
      Scope scope,
      float rate,
      GraphVariable step,
      long decaySteps,
      float decay,
      boolean staircase) {
    Scope s = scope.withSubScope("NaturalExpDecay");
    Output p = progress(s, step, decaySteps, staircase);
    return mul(s.asNode(), constant(s, rate), Unary.exp(s, mul(s, constant(s, -decay), p)));
  }

  /** {@code rate / (1 + decay * step / decaySteps)}. */
  public static Output inverseTimeDecay(
      Scope scope,
      float rate,
      GraphVariable step,
      long decaySteps,
      float decay,
      boolean staircase) {
    Scope s = scope.withSubScope("InverseTimeDecay");
    Output p = progress(s, step, decaySteps, staircase);
    Output divisor = add(s, constant(s, 1), mul(s, constant(s, decay), p));
    return realDiv(s.asNode(), constant(s, rate), divisor);
  }

  /**
   * From {@code rate} to {@code end} over {@code decaySteps} steps, along {@code (1 - t) ^ power};
   * then it stays.
   */
  public static Output polynomialDecay(
      Scope scope, float rate, GraphVariable step, long decaySteps, float end, float power) {
    Scope s = scope.withSubScope("PolynomialDecay");
    Output left = sub(s, constant(s, 1), limitedProgress(s, step, decaySteps));
    Output scaled = mul(s, constant(s, rate - end), pow(s, left, constant(s, power)));
    return add(s.asNode(), scaled, constant(s, end));
  }

  /**
   * From {@code rate} to {@code alpha * rate} over {@code decaySteps} steps, along half a wave of
   * the cosine; then it stays.
   */
  public static Output cosineDecay(
      Scope scope, float rate, GraphVariable step, long decaySteps, float alpha) {
    Scope s = scope.withSubScope("CosineDecay");
    Output angle = mul(s, constant(s, (float) Math.PI), limitedProgress(s, step, decaySteps));
    Output wave = mul(s, constant(s, .5f), add(s, constant(s, 1), Unary.of(s, Unary.COS, angle)));
    Output decayed = add(s, mul(s, constant(s, 1 - alpha), wave), constant(s, alpha));
    return mul(s.asNode(), constant(s, rate), decayed);
  }

  /** {@code rates[i]} up to and including step {@code boundaries[i]}, after them the last rate. */
  public static Output piecewiseConstant(
      Scope scope, GraphVariable step, long[] boundaries, float[] rates) {
    if (rates.length != boundaries.length + 1) {
      throw MillraceException.invalid(
          "%d boundaries divide the steps into %d parts, but there are %d rates.",
          boundaries.length, boundaries.length + 1, rates.length);
    }
    Scope s = scope.withSubScope("PiecewiseConstant");
    Output result = constant(s, rates[boundaries.length]);
    for (int i = boundaries.length - 1; i >= 0; i--) {
      if (i > 0 && boundaries[i - 1] >= boundaries[i]) {
        throw MillraceException.invalid(
            "Boundary %d (%d) is not above the one before (%d).",
            i, boundaries[i], boundaries[i - 1]);
      }
      Output limit = Const.of(s, step.dtype(), (double) boundaries[i]);
      Output past = Comparisons.greater(s, step.read(), limit);
      result = Select.of(s, past, result, constant(s, rates[i]));
    }
    return result;
  }

  /** Grows evenly from 0 to {@code rate} over the first steps, then is {@code rate}. */
  public static Output warmUp(Scope scope, Output rate, GraphVariable step, long warmUpSteps) {
    Scope s = scope.withSubScope("WarmUp");
    return mul(s.asNode(), rate, limitedProgress(s, step, warmUpSteps));
  }

  /** {@code step / steps}. */
  private static Output progress(Scope s, GraphVariable step, long steps, boolean whole) {
    Output p = realDiv(s, Cast.of(s, step.read(), DType.FLOAT), constant(s, (float) steps));
    return whole ? Unary.of(s, Unary.FLOOR, p) : p;
  }

  /** {@code step / steps}, at most 1. */
  private static Output limitedProgress(Scope s, GraphVariable step, long steps) {
    return Arithmetic.minimum(s, progress(s, step, steps, false), constant(s, 1));
  }

  private static Output constant(Scope s, float value) {
    return Const.of(s, value);
  }
}
