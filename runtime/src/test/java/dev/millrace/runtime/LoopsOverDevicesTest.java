package dev.millrace.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
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
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Loops and branches whose nodes sit on several devices. */
class LoopsOverDevicesTest {
  private static final RunOptions BOUNDED = RunOptions.DEFAULT.withTimeout(Duration.ofSeconds(60));

  private final Scope scope = Scope.of(StandardOps.newGraph()).withDevice("/cpu:0");
  private final Output n = Placeholder.of(scope, DType.INT32, Shape.scalar());
  private final Output x = Placeholder.of(scope, DType.FLOAT, Shape.scalar());

  private float run(Output y, int rounds, float start) {
    SessionOptions three = SessionOptions.DEFAULT.withCpuDevices(3);
    try (Session session = new LocalSession(scope.graph(), three)) {
      Map<Output, Tensor> feeds = Map.of(n, Tensor.scalar(rounds), x, Tensor.scalar(start));
      return session.run(feeds, List.of(y), List.of(), BOUNDED).getFirst().floatValue();
    }
  }

  private static Scope on(Scope s, int device) {
    return s.withDevice("/cpu:" + device);
  }

  private static Output plus(Scope s, Output a, float b) {
    return Arithmetic.add(s, a, Const.of(s, b));
  }

  /** {@code for (i = 0; i < n; i++) v = body(v)}, counted on device 0. */
  private Output loop(Scope scope, Output rounds, Output start, WhileLoop.Body body) {
    return WhileLoop.of(
            scope,
            List.of(Const.of(scope, 0), start),
            List.of(rounds, x),
            (s, v) -> Comparisons.less(s, v.get(0), v.get(2)),
            (s, v) ->
                List.of(
                    Arithmetic.add(s, v.get(0), Const.of(s, 1)),
                    body.of(s, v.subList(1, 4)).getFirst()))
        .get(1);
  }

  @Test
  void aBodyGoesOverThreeDevices() {
    Output y =
        loop(
            scope,
            n,
            x,
            (s, v) ->
                List.of(
                    plus(
                        on(s, 2),
                        Arithmetic.mul(on(s, 1), v.getFirst(), Const.of(on(s, 1), 2f)),
                        1)));
    assertEquals(5 * 1024 + 1023, run(y, 10, 5));
    assertEquals(5, run(y, 0, 5));
    assertEquals(Float.POSITIVE_INFINITY, run(y, 300, 5));
  }

  @Test
  void whatReadsOnlyConstantsOfALoopIsComputedInEveryRound() {
    Output y =
        loop(
            scope,
            n,
            x,
            (s, v) ->
                List.of(Arithmetic.add(s, v.get(0), Arithmetic.mul(on(s, 1), v.get(2), v.get(2)))));
    assertEquals(3 + 20 * 9, run(y, 20, 3));
  }

  @Test
  void loopsNestOverDevices() {
    Output y =
        loop(
            scope,
            n,
            x,
            (s, v) ->
                List.of(
                    loop(
                        on(s, 1),
                        v.get(1),
                        plus(on(s, 2), v.get(0), 1),
                        (t, w) -> List.of(plus(on(t, 2), w.get(0), 2)))));
    // Each of the four outer rounds adds one and four times two.
    assertEquals(10 + 4 * 9, run(y, 4, 10));
  }

  @Test
  void aBranchInALoopIsChosenOnOneDeviceAndComputedOnAnother() {
    Output y =
        loop(
            scope,
            n,
            x,
            (s, v) ->
                Conditional.of(
                    on(s, 1),
                    Comparisons.less(on(s, 1), v.get(0), Const.of(on(s, 1), 10f)),
                    List.of(v.get(0)),
                    (t, in) -> List.of(Arithmetic.scaled(on(t, 2), in.getFirst(), 3)),
                    (t, in) -> List.of(plus(on(t, 0), in.getFirst(), -8))));
    assertEquals(4, run(y, 4, 4));
    assertEquals(12, run(y, 5, 4));
  }

  @Test
  void aLoopOverDevicesOnTheBranchNotTakenIsDead() {
    Output y =
        Conditional.of(
                scope,
                Comparisons.less(scope, x, Const.of(scope, 10f)),
                List.of(x),
                (s, in) ->
                    WhileLoop.of(
                        s,
                        List.of(in.getFirst()),
                        (t, v) -> Comparisons.less(on(t, 1), v.getFirst(), Const.of(on(t, 1), 10f)),
                        (t, v) -> List.of(plus(on(t, 2), v.getFirst(), 3))),
                (s, in) -> List.of(in.getFirst()))
            .getFirst();
    assertEquals(11, run(y, 0, 2));
    assertEquals(50, run(y, 0, 50));
  }

  @Test
  void aFailureInARoundEndsTheLoopOnAllDevices() {
    Output zero = Const.of(scope, 0);
    Output y =
        WhileLoop.of(
                scope,
                List.of(n),
                List.of(zero),
                (s, v) -> Comparisons.less(s, v.get(1), v.get(0)),
                (s, v) ->
                    List.of(
                        on(s, 1)
                            .node("FloorDiv")
                            .input(v.get(0))
                            .input(Arithmetic.add(on(s, 1), v.get(0), Const.of(on(s, 1), -7)))
                            .add()
                            .output()))
            .getFirst();
    MillraceException e = assertThrows(MillraceException.class, () -> run(y, 7, 0));
    assertEquals(Code.INVALID_ARGUMENT, e.code(), e::getMessage);
  }

  @Test
  void aLoopOverDevicesLeavesNoMemoryBehind() {
    Output y = loop(scope, n, x, (s, v) -> List.of(plus(on(s, 1), v.getFirst(), 1)));
    SessionOptions two = SessionOptions.DEFAULT.withCpuDevices(2);
    try (Session session = new LocalSession(scope.graph(), two)) {
      Map<Output, Tensor> feeds = Map.of(n, Tensor.scalar(40), x, Tensor.scalar(1f));
      session.fetch(y, feeds).close();
      long before = BufferPool.current().usedBytes();
      for (int i = 0; i < 5; i++) {
        session.fetch(y, feeds).close();
      }
      assertTrue(BufferPool.current().usedBytes() <= before, "memory is left behind");
    }
  }
}
