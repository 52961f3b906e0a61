package dev.millrace.ops.accumulator;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.TinySession;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AccumulatorTest {
  @AutoClose private final TinySession session = new TinySession();
  private final Scope scope = session.scope();

  private Output accumulator(String op, String reduction) {
    return scope
        .node(op)
        .attr("dtype", DType.FLOAT)
        .attr("shape", Shape.of(2))
        .attr("reduction_type", reduction)
        .add()
        .output();
  }

  private Output accumulator() {
    return accumulator("ResourceConditionalAccumulator", "MEAN");
  }

  private Node apply(Output a, long step, float... gradient) {
    return AccumulatorOps.apply(
        scope, a, session.constant(Tensor.scalar(step)), session.constant(Tensor.vector(gradient)));
  }

  private Output take(Output a, int required) {
    return AccumulatorOps.take(scope, a, session.constant(Tensor.scalar(required)), DType.FLOAT);
  }

  private int count(Output a) {
    String op = (a.isRef() ? "" : "Resource") + "AccumulatorNumAccumulated";
    return session.fetch(scope.node(op).input(a).add().output()).intValue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"ConditionalAccumulator", "ResourceConditionalAccumulator"})
  void theMeanIsOverAllThatCameNotOverThoseRequired(String op) {
    Output a = accumulator(op, "MEAN");
    session.run(apply(a, 0, 1, 2));
    session.run(apply(a, 0, 3, 4));
    session.run(apply(a, 0, 5, 9));
    assertEquals(3, count(a));
    Output taken = take(a, 2);
    assertEquals(Shape.of(2), taken.shape());
    assertArrayEquals(new float[] {3, 5}, session.fetch(taken).toFloats());
    assertEquals(0, count(a));
  }

  @Test
  void sumsAreNotDivided() {
    Output a = accumulator("ResourceConditionalAccumulator", "SUM");
    session.run(apply(a, 0, 1, 2));
    session.run(apply(a, 0, 3, 4));
    assertArrayEquals(new float[] {4, 6}, session.fetch(take(a, 1)).toFloats());
  }

  @Test
  void aTakingBeginsTheNextStepAndOutdatedGradientsAreDropped() {
    Output a = accumulator();
    session.run(apply(a, 0, 1, 1));
    session.run(take(a, 1).node());
    session.run(apply(a, 0, 100, 100));
    assertEquals(0, count(a));
    session.run(apply(a, 1, 2, 2));
    session.run(apply(a, 7, 4, 4));
    assertArrayEquals(new float[] {3, 3}, session.fetch(take(a, 2)).toFloats());
  }

  @Test
  void theStepCanBeSet() {
    Output a = accumulator();
    session.run(AccumulatorOps.setGlobalStep(scope, a, session.constant(Tensor.scalar(5L))));
    session.run(apply(a, 4, 1, 1));
    assertEquals(0, count(a));
    session.run(apply(a, 5, 1, 1));
    assertEquals(1, count(a));
  }

  @Test
  void takersWaitInOrder() {
    Output a = accumulator();
    TinySession.Pending first = session.start(take(a, 2).node()).awaitStarted();
    TinySession.Pending second = session.start(take(a, 1).node()).awaitStarted();
    session.run(apply(a, 0, 1, 1));
    assertFalse(first.isDone());
    assertFalse(second.isDone());
    session.run(apply(a, 0, 3, 3));
    assertArrayEquals(new float[] {2, 2}, first.get()[0].toFloats());
    session.run(apply(a, 1, 7, 7));
    assertArrayEquals(new float[] {7, 7}, second.get()[0].toFloats());
  }

  @Test
  void aCancelledTakerLeavesTheLine() {
    Output a = accumulator();
    TinySession.Pending first = session.start(take(a, 2).node()).awaitStarted();
    TinySession.Pending second = session.start(take(a, 1).node()).awaitStarted();
    session.run(apply(a, 0, 1, 1));
    first.cancel();
    MillraceException e = assertThrows(MillraceException.class, first::get);
    assertEquals(Code.CANCELLED, e.code());
    assertEquals("TakeGrad operation was cancelled", e.getMessage());
    assertArrayEquals(new float[] {1, 1}, second.get()[0].toFloats());
  }

  @Test
  void mistakesAreRefused() {
    Output a = accumulator();
    refused("num_required must be positive", () -> session.run(take(a, 0).node()));
    refused("expected [2], got [3]", () -> session.run(apply(a, 0, 1, 2, 3)));
    assertEquals(0, count(a));
  }

  private static void refused(String why, Runnable body) {
    MillraceException e = assertThrows(MillraceException.class, body::run);
    assertEquals(Code.INVALID_ARGUMENT, e.code());
    assertTrue(e.getMessage().contains(why), e.getMessage());
  }

  // ---- rows ----

  private Output rows(Shape shape) {
    return scope
        .node("SparseConditionalAccumulator")
        .attr("dtype", DType.FLOAT)
        .attr("shape", shape)
        .add()
        .output();
  }

  private Node applyRows(Output a, long step, long[] at, float[] values, long... whole) {
    return scope
        .node("SparseAccumulatorApplyGradient")
        .input(a)
        .input(session.constant(Tensor.scalar(step)))
        .input(session.constant(Tensor.vector(at)))
        .input(
            session.constant(
                Tensor.of(
                    Shape.of(at.length, at.length == 0 ? 2 : values.length / at.length), values)))
        .input(session.constant(Tensor.vector(whole)))
        .attr("has_known_shape", whole.length > 0)
        .add();
  }

  private Tensor[] takeRows(Output a, int required) {
    Node take =
        scope
            .node("SparseAccumulatorTakeGradient")
            .input(a)
            .input(session.constant(Tensor.scalar(required)))
            .attr("dtype", DType.FLOAT)
            .add();
    return session.run(take.output(0), take.output(1), take.output(2));
  }

  @Test
  void aRowIsAveragedOverTheGradientsThatHadIt() {
    Output a = rows(Shape.of(6, 2));
    session.run(applyRows(a, 0, new long[] {1, 4}, new float[] {1, 2, 3, 4}));
    session.run(applyRows(a, 0, new long[] {0, 4, 5}, new float[] {10, 20, 30, 40, 50, 60}));
    session.run(applyRows(a, 0, new long[] {4}, new float[] {6, 6}));
    session.run(applyRows(a, 0, new long[] {}, new float[] {}));
    assertEquals(4, count(a));
    Tensor[] taken = takeRows(a, 2);
    assertArrayEquals(new long[] {0, 1, 4, 5}, taken[0].toLongs());
    assertArrayEquals(new float[] {10, 20, 1, 2, 13, 50 / 3f, 50, 60}, taken[1].toFloats(), 1e-5f);
    assertArrayEquals(new long[] {6, 2}, taken[2].toLongs());
    session.run(applyRows(a, 0, new long[] {4}, new float[] {9, 9}));
    assertEquals(0, count(a));
  }

  @Test
  void unsortedRowsAreMergedAsTensorFlowDoes() {
    Output a = rows(Shape.unknown());
    session.run(applyRows(a, 1, new long[] {3, 1, 3}, new float[] {1, 1, 2, 2, 3, 3}, 6, 2));
    session.run(applyRows(a, 1, new long[] {1, 3, 0}, new float[] {10, 10, 20, 20, 30, 30}, 6, 2));
    Tensor[] taken = takeRows(a, 1);
    assertArrayEquals(new long[] {1, 3, 0, 1, 3}, taken[0].toLongs());
    assertArrayEquals(new float[] {10, 10, 10.5f, 10.5f, 30, 30, 2, 2, 3, 3}, taken[1].toFloats());
    assertArrayEquals(new long[] {-1, 2}, taken[2].toLongs());
  }

  @Test
  void rowsMustBelongToTheDeclaredShape() {
    Output a = rows(Shape.of(6, 2));
    refused(
        "index is 7 exceeded 6",
        () -> session.run(applyRows(a, 0, new long[] {7}, new float[] {1, 1}, 6, 2)));
    refused("index -1", () -> session.run(applyRows(a, 0, new long[] {-1}, new float[] {1, 1})));
    refused(
        "Shape mismatch",
        () -> session.run(applyRows(a, 0, new long[] {1}, new float[] {1, 1, 1}, 6, 3)));
    refused(
        "Shape mismatch",
        () -> session.run(applyRows(a, 0, new long[] {1}, new float[] {1, 1}, 7, 2)));
    assertEquals(0, count(a));
  }

  @Test
  void theDeclaredShapeMayLeaveOutTheLastDimensions() {
    Output a = rows(Shape.of(2));
    session.run(applyRows(a, 0, new long[] {1}, new float[] {1, 2, 3}));
    refused(
        "expected values dim 1 to be 3, got 2",
        () -> session.run(applyRows(a, 0, new long[] {1}, new float[] {1, 2})));
    Tensor[] taken = takeRows(a, 1);
    assertArrayEquals(new float[] {1, 2, 3}, taken[1].toFloats());
    assertArrayEquals(new long[] {2, 3}, taken[2].toLongs());
    Output deep = rows(Shape.of(2, 3, -1));
    refused(
        "expected values rank at least 3, got 2",
        () -> session.run(applyRows(deep, 0, new long[] {1}, new float[] {1, 2, 3})));
    refused(
        "expected shape rank at least 3, got 2",
        () -> session.run(applyRows(deep, 0, new long[] {1}, new float[] {1, 2, 3}, 2, 3)));
  }

  @Test
  void rowsAndIndicesMustMatch() {
    Output a = rows(Shape.unknown());
    Tensor one = Tensor.vector(1L);
    refused(
        "Input indices should be vector but received shape: []", apply(a, Tensor.scalar(1L), one));
    refused("Values cannot be 0-dimensional.", apply(a, one, Tensor.scalar(1L)));
    refused("Expected 1 non-empty input values, got 2", apply(a, one, Tensor.vector(1L, 2L)));
  }

  private Runnable apply(Output a, Tensor at, Tensor values) {
    Tensor rows = Tensor.allocate(DType.FLOAT, values.shape());
    Node node =
        scope
            .node("SparseAccumulatorApplyGradient")
            .input(a)
            .input(session.constant(Tensor.scalar(0L)))
            .input(session.constant(at))
            .input(session.constant(rows))
            .input(session.constant(Tensor.vector(new long[0])))
            .attr("has_known_shape", false)
            .add();
    return () -> session.run(node);
  }

  @Test
  void theTwoKindsAreNotConfused() {
    Output a = rows(Shape.of(2));
    refused("is a SparseConditionalAccumulator", () -> session.run(apply(a, 0, 1, 2)));
  }
}
