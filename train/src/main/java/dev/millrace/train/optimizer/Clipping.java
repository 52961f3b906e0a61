package dev.millrace.train.optimizer;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Pack;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.ClipByValue;
import dev.millrace.ops.math.L2Loss;
import dev.millrace.ops.math.Reduction;
import dev.millrace.ops.math.Unary;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * Keeps gradients from growing too large. Gradients by rows stay so: their norm is that of the rows
 * as they are, before repeated ones are added up.
 */
public final class Clipping {
  private Clipping() {}

  /** Limits every element to the range from {@code min} to {@code max}. */
  public static List<GradientAndVariable> byValue(
      Scope scope, List<GradientAndVariable> pairs, float min, float max) {
    Scope s = scope.withSubScope("clip_by_value");
    return map(
        pairs, x -> ClipByValue.of(s, x, Const.of(s, x.dtype(), min), Const.of(s, x.dtype(), max)));
  }

  /** Scales down each gradient whose Euclidean norm is above {@code norm} to that norm. */
  public static List<GradientAndVariable> byNorm(
      Scope scope, List<GradientAndVariable> pairs, float norm) {
    Scope s = scope.withSubScope("clip_by_norm");
    return map(
        pairs,
        x -> {
          Output limit = Const.of(s, x.dtype(), norm);
          Output squares = Reduction.sumAll(s, Unary.square(s, x));
          Output larger = Arithmetic.maximum(s, Unary.sqrt(s, squares), limit);
          return Arithmetic.realDiv(s, Arithmetic.mul(s, x, limit), larger);
        });
  }

  /**
   * Scales all gradients down together if their common norm is above {@code norm}, which keeps the
   * direction of the step. A norm that is not finite makes all of them NaN rather than zero.
   */
  public static List<GradientAndVariable> byGlobalNorm(
      Scope scope, List<GradientAndVariable> pairs, float norm) {
    return byGlobalNorm(scope, pairs, norm, globalNorm(scope, pairs));
  }

  /** Scales gradients by their global norm, given a precomputed {@link #globalNorm}. */
  public static List<GradientAndVariable> byGlobalNorm(
      Scope scope, List<GradientAndVariable> pairs, float norm, Output globalNorm) {
    Scope s = scope.withSubScope("clip_by_global_norm");
    Output limit = Const.of(s, globalNorm.dtype(), norm);
    Output one = Const.of(s, globalNorm.dtype(), 1);
    Output smaller =
        Arithmetic.minimum(
            s, Arithmetic.realDiv(s, one, globalNorm), Arithmetic.realDiv(s, one, limit));
    // Zero for finite norms, NaN for others: infinity must not turn into a scale of zero.
    Output check = Arithmetic.sub(s, globalNorm, globalNorm);
    Output scale = Arithmetic.add(s, Arithmetic.mul(s, limit, smaller), check);
    return map(pairs, x -> Arithmetic.mul(s, x, scale));
  }

  /** The square root of the sum of the squares of all elements of all gradients. */
  public static Output globalNorm(Scope scope, List<GradientAndVariable> pairs) {
    Scope s = scope.withSubScope("global_norm");
    List<Output> halves = new ArrayList<>();
    for (GradientAndVariable p : pairs) {
      switch (p.gradient()) {
        case Grad.Dense d -> halves.add(L2Loss.of(s, d.value()));
        case Grad.Rows r -> halves.add(L2Loss.of(s, r.values()));
        case Grad.None n -> {}
      }
    }
    if (halves.isEmpty()) {
      throw MillraceException.invalid("None of the variables has a gradient: there is no norm.");
    }
    Output sum = Reduction.sumAll(s, Pack.of(s, halves));
    Output two = Const.of(s, sum.dtype(), 2);
    return Unary.sqrt(s.withName("global_norm"), Arithmetic.mul(s, sum, two));
  }

  private static List<GradientAndVariable> map(
      List<GradientAndVariable> pairs, UnaryOperator<Output> f) {
    List<GradientAndVariable> result = new ArrayList<>();
    for (GradientAndVariable p : pairs) {
      Grad g =
          switch (p.gradient()) {
            case Grad.Dense d -> new Grad.Dense(f.apply(d.value()));
            case Grad.Rows r -> new Grad.Rows(f.apply(r.values()), r.indices(), r.denseShape());
            case Grad.None n -> n;
          };
      result.add(new GradientAndVariable(g, p.variable()));
    }
    return result;
  }
}
