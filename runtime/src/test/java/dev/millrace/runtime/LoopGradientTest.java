package dev.millrace.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.flow.Conditional;
import dev.millrace.ops.flow.WhileLoop;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleUnaryOperator;
import org.junit.jupiter.api.Test;

/** Gradients of loops, and of branches in them, against finite differences. */
class LoopGradientTest {
  private static final double STEP = 1e-5;

  private final Scope scope = Scope.of(StandardOps.newGraph());
  private final Output n = Placeholder.of(scope, DType.INT32, Shape.scalar());
  private final Output x = Placeholder.of(scope, DType.DOUBLE, Shape.scalar());

  /** The variables after {@code n} rounds of {@code body}, which sees a round's number first. */
  private static List<Output> repeat(
      Scope scope, Output n, List<Output> start, WhileLoop.Body body) {
    List<Output> all = new ArrayList<>(List.of(Const.of(scope, 0)));
    all.addAll(start);
    List<Output> results =
        WhileLoop.of(
            scope,
            all,
            (s, v) -> Comparisons.less(s, v.getFirst(), n),
            (s, v) -> {
              List<Output> next =
                  new ArrayList<>(List.of(Arithmetic.add(s, v.getFirst(), Const.of(s, 1))));
              next.addAll(body.of(s, v));
              return next;
            });
    return results.subList(1, results.size());
  }

  private static Output mul(Scope s, Output a, Output b) {
    return Arithmetic.mul(s, a, b);
  }

  private static Output real(Scope s, double v) {
    return Const.of(s, DType.DOUBLE, v);
  }

  private static Output sin(Scope s, Output a) {
    return s.node("Sin").input(a).add().output();
  }

  /** dy/dx is what differences say, for every number of rounds. */
  private void check(Output y) {
    Output dx = Gradients.dense(scope, Gradients.of(scope, List.of(y), List.of(x)).getFirst());
    try (Session session = new LocalSession(scope.graph())) {
      for (int rounds : new int[] {0, 1, 2, 5, 13}) {
        for (double at : new double[] {0.7, -0.4, 1.1}) {
          DoubleUnaryOperator f = v -> session.fetch(y, feeds(rounds, v)).doubleValue();
          double expected = (f.applyAsDouble(at + STEP) - f.applyAsDouble(at - STEP)) / (2 * STEP);
          double actual = session.fetch(dx, feeds(rounds, at)).doubleValue();
          assertEquals(
              expected,
              actual,
              1e-6 * Math.max(1, Math.abs(expected)),
              rounds + " rounds at " + at);
        }
      }
    }
  }

  private Map<Output, Tensor> feeds(int rounds, double at) {
    return Map.of(n, Tensor.scalar(rounds), x, Tensor.scalar(at));
  }

  @Test
  void aVariableAndAValueFromOutside() {
    check(repeat(scope, n, List.of(x), (s, v) -> List.of(sin(s, mul(s, v.get(1), x)))).getFirst());
  }

  @Test
  void severalVariablesThatChangePlaces() {
    List<Output> r =
        repeat(
            scope,
            n,
            List.of(x, sin(scope, x), real(scope, 1.5)),
            (s, v) -> List.of(v.get(2), mul(s, v.get(1), v.get(3)), sin(s, v.get(1))));
    check(mul(scope, r.get(0), r.get(2)));
  }

  @Test
  void loopsWithinLoops() {
    check(
        repeat(
                scope,
                n,
                List.of(x),
                (s, v) ->
                    repeat(
                        s,
                        v.getFirst(),
                        List.of(v.get(1)),
                        (t, w) -> List.of(mul(t, sin(t, mul(t, w.get(1), x)), v.get(1)))))
            .getFirst());
  }

  private Output choice(Scope s, Output v) {
    return Conditional.of(
            s,
            Comparisons.less(s, v, real(s, 0.5)),
            List.of(),
            (t, in) -> List.of(mul(t, mul(t, v, real(t, 2.5)), x)),
            (t, in) -> List.of(sin(t, mul(t, v, v))))
        .getFirst();
  }

  @Test
  void branchesWithinALoop() {
    check(repeat(scope, n, List.of(x), (s, v) -> List.of(choice(s, v.get(1)))).getFirst());
  }

  @Test
  void aLoopWithinABranch() {
    check(
        Conditional.of(
                scope,
                Comparisons.less(scope, x, real(scope, 0.5)),
                List.of(),
                (s, in) -> repeat(s, n, List.of(x), (t, v) -> List.of(sin(t, mul(t, v.get(1), x)))),
                (s, in) -> List.of(mul(s, x, x)))
            .getFirst());
  }

  @Test
  void aLoopWithinABranchWithinALoop() {
    check(
        repeat(
                scope,
                n,
                List.of(x),
                (s, v) ->
                    Conditional.of(
                        s,
                        Comparisons.less(s, v.get(1), real(s, 0.5)),
                        List.of(),
                        (t, in) ->
                            repeat(
                                t,
                                v.getFirst(),
                                List.of(Arithmetic.add(t, v.get(1), x)),
                                (u, w) -> List.of(choice(u, sin(u, mul(u, w.get(1), x))))),
                        (t, in) -> List.of(mul(t, v.get(1), x))))
            .getFirst());
  }

  @Test
  void aShapeThatGrows() {
    Output start =
        scope.node("Reshape").input(x).input(Const.of(scope, Tensor.vector(1))).add().output();
    List<Output> r =
        WhileLoop.of(
            scope,
            List.of(Const.of(scope, 0), start),
            (s, v) -> Comparisons.less(s, v.getFirst(), n),
            (s, v) ->
                List.of(
                    Arithmetic.add(s, v.getFirst(), Const.of(s, 1)),
                    s.node("ConcatV2")
                        .inputs(List.of(sin(s, v.get(1)), mul(s, start, x)))
                        .input(Const.of(s, 0))
                        .add()
                        .output()),
            WhileLoop.Options.DEFAULT.withShapeInvariants(List.of(Shape.scalar(), Shape.of(-1))));
    check(scope.node("Sum").input(r.get(1)).input(Const.of(scope, 0)).add().output());
  }

  @Test
  void noMoreRoundsThanAllowed() {
    Output y =
        WhileLoop.of(
                scope,
                List.of(x),
                (s, v) -> Const.of(s, Tensor.scalar(true)),
                (s, v) -> List.of(sin(s, mul(s, v.getFirst(), x))),
                WhileLoop.Options.DEFAULT.withMaximumIterations(4).withParallelIterations(1))
            .getFirst();
    check(y);
  }

  @Test
  void aLoopWithoutBackPropagationGivesConstants() {
    Output y =
        WhileLoop.of(
                scope,
                List.of(x),
                (s, v) -> Comparisons.less(s, v.getFirst(), real(s, 9.0)),
                (s, v) -> List.of(mul(s, v.getFirst(), real(s, 2.0))),
                WhileLoop.Options.DEFAULT.withBackProp(false))
            .getFirst();
    assertInstanceOf(Grad.None.class, Gradients.of(scope, List.of(y), List.of(x)).getFirst());
  }

  @Test
  void secondDerivativesAreRefused() {
    Output y = repeat(scope, n, List.of(x), (s, v) -> List.of(mul(s, v.get(1), x))).getFirst();
    Output dx = Gradients.dense(scope, Gradients.of(scope, List.of(y), List.of(x)).getFirst());
    String message =
        assertThrows(MillraceException.class, () -> Gradients.of(scope, List.of(dx), List.of(x)))
            .getMessage();
    assertTrue(message.contains("StackPopV2 'gradients/"), message);
    assertTrue(message.contains("second derivatives"), message);
  }

  @Test
  void aGradientIntoALoopIsRefused() {
    Output[] inner = new Output[1];
    Output y =
        repeat(
                scope,
                n,
                List.of(x),
                (s, v) -> {
                  inner[0] = v.get(1);
                  return List.of(mul(s, v.get(1), x));
                })
            .getFirst();
    String message =
        assertThrows(
                MillraceException.class, () -> Gradients.of(scope, List.of(y), List.of(inner[0])))
            .getMessage();
    assertTrue(message.contains("'" + inner[0].name() + "'"), message);
  }

  @Test
  void theGradientLeavesNoMemoryBehind() {
    Output y = repeat(scope, n, List.of(x), (s, v) -> List.of(choice(s, v.get(1)))).getFirst();
    Output dx = Gradients.dense(scope, Gradients.of(scope, List.of(y), List.of(x)).getFirst());
    try (Session session = new LocalSession(scope.graph())) {
      Map<Output, Tensor> feeds = feeds(100, 0.3);
      session.fetch(dx, feeds).close();
      long before = BufferPool.current().usedBytes();
      for (int i = 0; i < 20; i++) {
        session.fetch(dx, feeds).close();
      }
      long after = BufferPool.current().usedBytes();
      assertTrue(after <= before, () -> before + " bytes became " + after);
    }
  }
}
