package dev.millrace.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.flow.Conditional;
import dev.millrace.ops.flow.Frames;
import dev.millrace.ops.flow.Switch;
import dev.millrace.ops.flow.WhileLoop;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.ops.math.MatMul;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class WhileLoopTest {
  private final Scope scope = Scope.of(StandardOps.newGraph());
  private final Output n = Placeholder.of(scope, DType.INT32, Shape.scalar());
  private final Output x = Placeholder.of(scope, DType.FLOAT, Shape.scalar());

  private Tensor run(Output y, int rounds, float start) {
    try (Session session = new LocalSession(scope.graph())) {
      return session.fetch(y, Map.of(n, Tensor.scalar(rounds), x, Tensor.scalar(start)));
    }
  }

  private static Output plusOne(Scope s, Output i) {
    return Arithmetic.add(s, i, Const.of(s, 1));
  }

  /** {@code for (i = 0; i < n; i++) v = 2 v + 1}. */
  private Output doubling(Scope scope, Output start) {
    return WhileLoop.of(
            scope,
            List.of(Const.of(scope, 0), start),
            List.of(n),
            (s, v) -> Comparisons.less(s, v.get(0), v.get(2)),
            (s, v) ->
                List.of(
                    plusOne(s, v.get(0)),
                    Arithmetic.add(s, Arithmetic.scaled(s, v.get(1), 2), Const.of(s, 1f))))
        .get(1);
  }

  @Test
  void aLoopRunsWhileItsConditionHolds() {
    Output y = doubling(scope, x);
    assertEquals(5 * 1024 + 1023, run(y, 10, 5).floatValue());
    assertEquals(5, run(y, 0, 5).floatValue());
  }

  @Test
  void moreRoundsThanMayOverlapRunAsWell() {
    Output y =
        WhileLoop.of(
                scope,
                List.of(Const.of(scope, 0)),
                List.of(n),
                (s, v) -> Comparisons.less(s, v.get(0), v.get(1)),
                (s, v) -> List.of(plusOne(s, v.get(0))))
            .getFirst();
    assertEquals(5000, run(y, 5000, 0).intValue());
  }

  @Test
  void loopsNest() {
    Output y =
        WhileLoop.of(
                scope,
                List.of(Const.of(scope, 0), x),
                List.of(n),
                (s, v) -> Comparisons.less(s, v.get(0), v.get(2)),
                (s, v) ->
                    List.of(
                        plusOne(s, v.get(0)),
                        WhileLoop.of(
                                s,
                                List.of(Const.of(s, 0), v.get(1)),
                                List.of(v.get(0)),
                                (t, w) -> Comparisons.less(t, w.get(0), w.get(2)),
                                (t, w) ->
                                    List.of(
                                        plusOne(t, w.get(0)),
                                        Arithmetic.add(t, w.get(1), Const.of(t, 1f))))
                            .get(1)))
            .get(1);
    // 0 + 1 + ... + 6 rounds of the inner loop.
    assertEquals(100 + 21, run(y, 7, 100).floatValue());
  }

  @Test
  void aLoopOnTheBranchNotTakenIsDead() {
    Output small = Comparisons.less(scope, x, Const.of(scope, 10f));
    Output y =
        Conditional.of(
                scope,
                small,
                List.of(x),
                (s, in) ->
                    WhileLoop.of(
                        s,
                        List.of(in.getFirst()),
                        (t, v) -> Comparisons.less(t, v.getFirst(), Const.of(t, 10f)),
                        (t, v) -> List.of(Arithmetic.add(t, v.getFirst(), Const.of(t, 3f)))),
                (s, in) -> List.of(in.getFirst()))
            .getFirst();
    assertEquals(11, run(y, 0, 2).floatValue());
    assertEquals(50, run(y, 0, 50).floatValue());
  }

  @Test
  void aBranchWithinALoopIsChosenAnewInEveryRound() {
    Output y =
        WhileLoop.of(
                scope,
                List.of(Const.of(scope, 0), x),
                List.of(n),
                (s, v) -> Comparisons.less(s, v.get(0), v.get(2)),
                (s, v) ->
                    List.of(
                        plusOne(s, v.get(0)),
                        Conditional.of(
                                s,
                                Comparisons.less(s, v.get(1), Const.of(s, 10f)),
                                List.of(v.get(1)),
                                (t, in) -> List.of(Arithmetic.scaled(t, in.getFirst(), 3)),
                                (t, in) ->
                                    List.of(Arithmetic.add(t, in.getFirst(), Const.of(t, -8f))))
                            .getFirst()))
            .get(1);
    // 4, 12, 4, 12, 4.
    assertEquals(4, run(y, 4, 4).floatValue());
    assertEquals(12, run(y, 5, 4).floatValue());
  }

  @Test
  void aLoopChangesAVariable() {
    Output v = VariableV2.of(scope.withName("v"), DType.FLOAT, Shape.scalar());
    Node start = Assign.of(scope, v, Const.of(scope, 1f));
    Output ref = Frames.enter(scope, v, "loop", true);
    Output enter = Frames.enter(scope, n, "loop", false);
    Node merge = scope.node("Merge").inputs(Arrays.asList(enter, null)).add();
    Output positive =
        Comparisons.less(scope, Const.of(scope.withControlInputs(merge), 0), merge.output(0));
    Output goOn = Frames.loopCond(scope, positive);
    Node way = Switch.of(scope, merge.output(0), goOn);
    Output left = Identity.of(scope, way.output(1));
    Scope round = scope.withControlInputs(left.node());
    Node doubled = round.node("AssignAdd").input(ref).input(ref).add();
    Output less =
        Arithmetic.add(
            scope.withControlInputs(doubled),
            left,
            Const.of(scope.withControlInputs(left.node()), -1));
    scope.graph().connectBackEdge(merge, 1, Frames.nextIteration(scope, less));
    Output out = Frames.exit(scope, way.output(0));
    try (Session session = new LocalSession(scope.graph())) {
      session.run(start);
      assertEquals(0, session.fetch(out, Map.of(n, Tensor.scalar(6))).intValue());
      assertEquals(64, session.fetch(v).floatValue());
    }
  }

  @Test
  void aLoopLeavesNoMemoryBehind() {
    Output m = Placeholder.of(scope, DType.FLOAT, Shape.of(8, 8));
    Output y =
        WhileLoop.of(
                scope,
                List.of(Const.of(scope, 0), m),
                List.of(n, m),
                (s, v) -> Comparisons.less(s, v.get(0), v.get(2)),
                (s, v) -> List.of(plusOne(s, v.get(0)), MatMul.of(s, v.get(1), v.get(3))))
            .get(1);
    try (Session session = new LocalSession(scope.graph())) {
      Tensor eye = Tensor.of(Shape.of(8, 8), new float[64]);
      for (int i = 0; i < 8; i++) {
        eye.setDouble(i * 9L, 2);
      }
      Map<Output, Tensor> feeds = Map.of(n, Tensor.scalar(20), m, eye);
      session.fetch(y, feeds).close();
      long before = BufferPool.current().usedBytes();
      for (int i = 0; i < 5; i++) {
        Tensor r = session.fetch(y, feeds);
        assertEquals(Math.pow(2, 21), r.doubleAt(9));
        r.close();
      }
      assertTrue(BufferPool.current().usedBytes() <= before, "memory is left behind");
    }
  }

  @Test
  void anEndlessLoopEndsWithTheStepsTimeout() {
    Output y =
        WhileLoop.of(
                scope,
                List.of(Const.of(scope, 0)),
                (s, v) -> Comparisons.less(s, v.getFirst(), Const.of(s, Integer.MAX_VALUE)),
                (s, v) -> List.of(Arithmetic.mul(s, v.getFirst(), Const.of(s, 1))))
            .getFirst();
    try (Session session = new LocalSession(scope.graph())) {
      RunOptions soon = RunOptions.DEFAULT.withTimeout(Duration.ofMillis(200));
      MillraceException e =
          assertThrows(
              MillraceException.class, () -> session.run(Map.of(), List.of(y), List.of(), soon));
      assertEquals(Code.DEADLINE_EXCEEDED, e.code());
    }
  }

  @Test
  void valuesFromOutsideAreTakenIn() {
    Output outside = Arithmetic.add(scope.withName("outside"), x, x);
    Output y =
        WhileLoop.of(
                scope,
                List.of(x),
                (s, v) -> Comparisons.less(s, v.getFirst(), outside),
                (s, v) -> List.of(Arithmetic.add(s, v.getFirst(), outside)))
            .getFirst();
    assertEquals(3, run(y, 0, 1).floatValue());
  }

  @Test
  void aValueThatDoesNotEnterIsRefused() {
    Output outside = Arithmetic.add(scope.withName("outside"), x, x);
    Output y =
        WhileLoop.of(
                scope,
                List.of(x),
                (s, v) -> Comparisons.less(s, v.getFirst(), Const.of(s, 10f)),
                (s, v) -> List.of(Arithmetic.add(s.withStandIns(o -> o), v.getFirst(), outside)))
            .getFirst();
    MillraceException e = assertThrows(MillraceException.class, () -> run(y, 0, 1));
    assertTrue(e.getMessage().contains("through Enter"), e::getMessage);
  }

  @Test
  void aBodyThatChangesAVariablesShapeIsRefused() {
    Output m = Placeholder.of(scope, DType.FLOAT, Shape.of(2));
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () ->
                WhileLoop.of(
                    scope,
                    List.of(m),
                    (s, v) -> Const.of(s, Tensor.scalar(true)),
                    (s, v) -> List.of(Const.of(s, Tensor.vector(1f, 2f, 3f)))));
    assertTrue(e.getMessage().contains("'while/'"), e::getMessage);
    assertTrue(e.getMessage().contains("[2]"), e::getMessage);
    assertTrue(e.getMessage().contains("shape invariants"), e::getMessage);
  }
}
