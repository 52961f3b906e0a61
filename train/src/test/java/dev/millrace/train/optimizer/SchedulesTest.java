package dev.millrace.train.optimizer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.util.List;
import java.util.function.IntToDoubleFunction;
import org.junit.jupiter.api.Test;

/** Learning rates, clipping and moving averages against their formulas. */
class SchedulesTest {
  private final Scope scope = Scope.of(new Graph(StandardOps.registry()));
  private final GraphVariable step = GlobalStep.of(scope);

  /** Checks a rate at the first steps. */
  private void check(Output rate, int steps, IntToDoubleFunction expected) {
    try (Session s = new LocalSession(scope.graph())) {
      s.run(step.initializer());
      for (int i = 0; i < steps; i++) {
        assertEquals(expected.applyAsDouble(i), s.fetch(rate).doubleValue(), 1e-6, "step " + i);
        s.run(step.assignAdd(scope, Const.of(scope, 1L)));
      }
    }
  }

  @Test
  void exponentialDecayIsAStaircaseIfAsked() {
    check(
        LearningRates.exponentialDecay(scope, .5f, step, 4, .8f, false),
        9,
        i -> .5 * Math.pow(.8, i / 4.));
    check(
        LearningRates.exponentialDecay(scope, .5f, step, 4, .8f, true),
        9,
        i -> .5 * Math.pow(.8, Math.floor(i / 4.)));
  }

  @Test
  void polynomialAndCosineDecayEndWhereTheyShould() {
    check(
        LearningRates.polynomialDecay(scope, .5f, step, 4, .1f, 2),
        7,
        i -> .4 * Math.pow(1 - Math.min(i, 4) / 4., 2) + .1);
    check(
        LearningRates.cosineDecay(scope, .5f, step, 4, .1f),
        7,
        i -> .5 * (.9 * .5 * (1 + Math.cos(Math.PI * Math.min(i, 4) / 4)) + .1));
  }

  @Test
  void piecewiseRatesChangeAfterTheirBoundaries() {
    check(
        LearningRates.piecewiseConstant(scope, step, new long[] {2, 4}, new float[] {1, .5f, .25f}),
        7,
        i -> i <= 2 ? 1 : i <= 4 ? .5 : .25);
  }

  @Test
  void warmUpGrowsToTheRate() {
    check(
        LearningRates.warmUp(scope, Const.of(scope, 2f), step, 4), 7, i -> 2 * Math.min(i, 4) / 4.);
  }

  private List<GradientAndVariable> gradients() {
    VariableScope v = VariableScope.of(scope);
    GraphVariable a = v.variable("a", Shape.of(2), Initializers.zeros());
    GraphVariable b = v.variable("b", Shape.of(1), Initializers.zeros());
    return List.of(
        new GradientAndVariable(new Grad.Dense(Const.of(scope, Tensor.vector(3f, -4f))), a),
        new GradientAndVariable(new Grad.Dense(Const.of(scope, Tensor.vector(12f))), b));
  }

  private void assertGradients(List<GradientAndVariable> pairs, float... expected) {
    try (Session s = new LocalSession(scope.graph())) {
      int i = 0;
      for (GradientAndVariable p : pairs) {
        for (float found : s.fetch(((Grad.Dense) p.gradient()).value()).toFloats()) {
          assertEquals(expected[i++], found, 1e-5);
        }
      }
      assertEquals(expected.length, i);
    }
  }

  @Test
  void gradientsAreClippedByValueByNormAndTogether() {
    List<GradientAndVariable> g = gradients();
    assertGradients(Clipping.byValue(scope, g, -2, 5), 3, -2, 5);
    assertGradients(Clipping.byNorm(scope, g, 6), 3, -4, 6);
    assertGradients(Clipping.byGlobalNorm(scope, g, 26), 3, -4, 12);
    assertGradients(Clipping.byGlobalNorm(scope, g, 6.5f), 1.5f, -2, 6);
    try (Session s = new LocalSession(scope.graph())) {
      assertEquals(13, s.fetch(Clipping.globalNorm(scope, g)).floatValue(), 1e-5);
    }
  }

  @Test
  void movingAverageFollowsItsVariable() {
    GraphVariable v =
        VariableScope.of(scope).variable("v", Shape.scalar(), Initializers.constant(10));
    MovingAverage averages = new MovingAverage(.75f);
    var update = averages.apply(scope, List.of(v));
    var set = v.assign(scope, Const.of(scope, 2f));
    try (Session s = new LocalSession(scope.graph())) {
      s.run(Variables.initializer(scope));
      s.run(set);
      double expected = 10;
      for (int i = 0; i < 4; i++) {
        s.run(update);
        expected = .75 * expected + .25 * 2;
        assertEquals(expected, s.fetch(averages.average(v).read()).doubleValue(), 1e-5);
      }
      assertEquals("v/ExponentialMovingAverage", averages.average(v).name());
      assertEquals(v, averages.toRestore(List.of(v)).get("v/ExponentialMovingAverage"));
    }
  }
}
