package dev.millrace.ops.queue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.TinySession;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class QueueTest {
  private static final List<DType> LONG = List.of(DType.INT64);

  @AutoClose private final TinySession session = new TinySession();
  private final Scope scope = session.scope();

  private Output fifo(int capacity) {
    return QueueHandles.fifo(scope.withName("q"), LONG, List.of(Shape.scalar()), capacity);
  }

  private Node put(Output q, long v) {
    return QueueAccess.enqueue(scope, q, List.of(session.constant(Tensor.scalar(v))));
  }

  private Node putMany(Output q, long... v) {
    return QueueAccess.enqueueMany(scope, q, List.of(session.constant(Tensor.vector(v))));
  }

  private Node take(Output q) {
    return QueueAccess.dequeue(scope, q, LONG);
  }

  private Node takeMany(Output q, int n) {
    return QueueAccess.dequeueMany(scope, q, session.constant(Tensor.scalar(n)), LONG);
  }

  private Node takeUpTo(Output q, int n) {
    return scope
        .node("QueueDequeueUpToV2")
        .input(q)
        .input(session.constant(Tensor.scalar(n)))
        .attr("component_types", LONG)
        .add();
  }

  private long size(Output q) {
    return session.fetch(QueueAccess.size(scope, q)).longValue();
  }

  private void fails(Code code, String message, Runnable body) {
    MillraceException e = assertThrows(MillraceException.class, body::run);
    assertEquals(code, e.code(), e.getMessage());
    assertTrue(e.getMessage().contains(message), e.getMessage());
  }

  @Test
  void elementsLeaveInTheOrderTheyCame() {
    Output q = fifo(10);
    session.run(putMany(q, 1, 2));
    session.run(put(q, 3));
    assertEquals(3, size(q));
    Node take = take(q);
    for (long expected = 1; expected <= 3; expected++) {
      assertEquals(expected, session.fetch(take.output()).longValue());
    }
    assertEquals(0, size(q));
  }

  @Test
  void dequeueWaitsForAnElement() {
    Output q = fifo(10);
    TinySession.Pending waiting = session.start(take(q)).awaitStarted();
    assertFalse(waiting.isDone());
    session.run(put(q, 7));
    assertEquals(7, waiting.get()[0].longValue());
  }

  @Test
  void enqueueWaitsForRoom() {
    Output q = fifo(1);
    session.run(put(q, 1));
    TinySession.Pending waiting = session.start(put(q, 2)).awaitStarted();
    assertFalse(waiting.isDone());
    assertEquals(1, size(q));
    assertEquals(1, session.fetch(take(q).output()).longValue());
    waiting.get();
    assertEquals(2, session.fetch(take(q).output()).longValue());
  }

  @Test
  void manyAreStacked() {
    Output q = fifo(-1);
    Node take = takeMany(q, 3);
    assertEquals(Shape.of(3), take.output().shape());
    session.run(putMany(q, 4, 5, 6, 7));
    assertArrayEquals(new long[] {4, 5, 6}, session.fetch(take.output()).toLongs());
    assertEquals(0, session.fetch(takeMany(q, 0).output()).elements());
    session.run(putMany(q));
    assertEquals(1, size(q));
  }

  @Test
  void aDequeueOfManyTakesMoreThanTheQueueHolds() {
    Output q = fifo(2);
    TinySession.Pending waiting = session.start(takeMany(q, 5)).awaitStarted();
    session.run(putMany(q, 1, 2, 3, 4, 5, 6));
    assertArrayEquals(new long[] {1, 2, 3, 4, 5}, waiting.get()[0].toLongs());
    assertEquals(1, size(q));
  }

  @Test
  void aClosedQueueIsDrainedAndThenOutOfRange() {
    Output q = fifo(10);
    session.run(putMany(q, 1, 2, 3));
    session.run(QueueAccess.close(scope, q, false));
    fails(Code.CANCELLED, "FIFOQueue 'q' is closed.", () -> session.run(put(q, 9)));
    assertEquals(1, session.fetch(take(q).output()).longValue());
    fails(
        Code.OUT_OF_RANGE,
        "FIFOQueue 'q' is closed and has insufficient elements (requested 3, current size 2)",
        () -> session.run(takeMany(q, 3)));
    assertArrayEquals(new long[] {2, 3}, session.fetch(takeUpTo(q, 3).output()).toLongs());
    fails(Code.OUT_OF_RANGE, "(requested 1, current size 0)", () -> session.run(takeUpTo(q, 1)));
  }

  @Test
  void closingEndsTheWaitOfDequeuers() {
    Output q = fifo(10);
    TinySession.Pending one = session.start(take(q)).awaitStarted();
    TinySession.Pending many = session.start(takeMany(q, 2)).awaitStarted();
    session.run(put(q, 1));
    session.run(put(q, 2));
    session.run(QueueAccess.close(scope, q, false));
    assertEquals(1, one.get()[0].longValue());
    fails(Code.OUT_OF_RANGE, "requested 2, current size 1", many::get);
    // What the failed one had taken is there for others.
    assertEquals(2, session.fetch(take(q).output()).longValue());
  }

  @Test
  void closingWaitsForEnqueuersUnlessTheyAreCancelled() {
    Output q = fifo(1);
    session.run(put(q, 1));
    TinySession.Pending second = session.start(put(q, 2)).awaitStarted();
    TinySession.Pending closing = session.start(QueueAccess.close(scope, q, false)).awaitStarted();
    assertFalse(closing.isDone());
    session.run(take(q));
    second.get();
    closing.get();
    assertTrue(session.fetch(scope.node("QueueIsClosedV2").input(q).add().output()).booleanValue());
    fails(Code.CANCELLED, "already closed", () -> session.run(QueueAccess.close(scope, q, false)));

    Output r = QueueHandles.fifo(scope.withName("r"), LONG, List.of(Shape.scalar()), 1);
    session.run(put(r, 1));
    TinySession.Pending cancelled = session.start(put(r, 2)).awaitStarted();
    session.run(QueueAccess.close(scope, r, true));
    fails(Code.CANCELLED, "Enqueue operation was cancelled", cancelled::get);
    assertEquals(1, session.fetch(take(r).output()).longValue());
  }

  @Test
  void aCancelledStepGivesBackWhatItTook() {
    Output q = fifo(10);
    session.run(putMany(q, 1, 2));
    TinySession.Pending many = session.start(takeMany(q, 3)).awaitStarted();
    TinySession.Pending next = session.start(take(q)).awaitStarted();
    assertFalse(next.isDone());
    many.cancel();
    fails(Code.CANCELLED, "Dequeue operation was cancelled", many::get);
    assertEquals(1, next.get()[0].longValue());
    assertEquals(1, size(q));
  }

  @Test
  void elementsMustBeAsDeclared() {
    Output q = fifo(10);
    fails(
        Code.INVALID_ARGUMENT,
        "Expected [], got [1]",
        () ->
            session.run(
                QueueAccess.enqueue(scope, q, List.of(session.constant(Tensor.vector(1L))))));
    fails(
        Code.INVALID_ARGUMENT,
        "components of types [int64]",
        () ->
            session.run(
                QueueAccess.enqueue(scope, q, List.of(session.constant(Tensor.scalar(1))))));
    fails(Code.INVALID_ARGUMENT, "< 0 elements", () -> session.run(takeMany(q, -1)));
  }

  @Test
  void queuesOfOneSharedNameAreOne() {
    Output q = fifo(10);
    NodeBuilder other =
        scope
            .node("FIFOQueueV2")
            .attr("component_types", LONG)
            .attr("shapes", List.of(Shape.scalar()))
            .attr("shared_name", "q");
    Output same = other.attr("capacity", 10).add().output();
    session.run(put(q, 5));
    assertEquals(5, session.fetch(take(same).output()).longValue());
    Output different = other.attr("capacity", 11).add().output();
    fails(
        Code.INVALID_ARGUMENT,
        "has capacity 10, but the requested capacity is 11",
        () -> session.run(take(different)));
  }

  @Test
  void manyOfAPriorityQueueLeaveInOrder() {
    Output q =
        scope.node("PriorityQueueV2").attr("shapes", List.of()).attr("capacity", 3).add().output();
    TinySession.Pending three = session.start(takeMany(q, 3)).awaitStarted();
    session.run(put(q, 3));
    session.run(put(q, 1));
    assertFalse(three.isDone());
    session.run(put(q, 2));
    assertArrayEquals(new long[] {1, 2, 3}, three.get()[0].toLongs());
    // More than it can hold do not wait for ever: a full queue gives what it has.
    TinySession.Pending four = session.start(takeMany(q, 4)).awaitStarted();
    session.run(putMany(q, 9, 8, 7, 6));
    assertArrayEquals(new long[] {7, 8, 9, 6}, four.get()[0].toLongs());
  }

  @Test
  void aMismatchNamesTheShapes() {
    Output q = QueueHandles.fifo(scope.withName("shaped"), LONG, List.of(Shape.of(2)), 10);
    fails(
        Code.INVALID_ARGUMENT,
        "Shape mismatch in tuple component 0. Expected [2], got []",
        () -> session.run(put(q, 1)));
    fails(
        Code.INVALID_ARGUMENT,
        "Shape mismatch in tuple component 0. Expected [3,2], got [3]",
        () -> session.run(putMany(q, 1, 2, 3)));
  }

  @Test
  void aRemovedQueueFailsItsWaiters() {
    Output q = fifo(10);
    TinySession.Pending waiting = session.start(take(q)).awaitStarted();
    session.resources().closeAll();
    fails(Code.CANCELLED, "was removed", waiting::get);
  }

  @Test
  void referenceHandlesWorkAlike() {
    Output q =
        scope
            .node("FIFOQueue")
            .attr("component_types", List.of(DType.STRING, DType.FLOAT))
            .attr("capacity", 3)
            .add()
            .output();
    assertTrue(q.isRef());
    session.run(
        QueueAccess.enqueue(
            scope,
            q,
            List.of(
                session.constant(Tensor.scalar("a")), session.constant(Tensor.vector(1f, 2f)))));
    assertEquals(1, size(q));
    Node take = QueueAccess.dequeue(scope, q, List.of(DType.STRING, DType.FLOAT));
    Tensor[] element = session.run(take.output(0), take.output(1));
    assertEquals("a", element[0].stringValue());
    assertArrayEquals(new float[] {1, 2}, element[1].toFloats());
    fails(
        Code.INVALID_ARGUMENT,
        "specified shapes",
        () ->
            session.run(
                QueueAccess.dequeueMany(
                    scope,
                    q,
                    session.constant(Tensor.scalar(1)),
                    List.of(DType.STRING, DType.FLOAT))));
    session.run(QueueAccess.close(scope, q, true));
  }

  @Test
  void shufflingKeepsSomeBackUntilClosed() {
    Output q =
        scope
            .node("RandomShuffleQueueV2")
            .attr("component_types", LONG)
            .attr("shapes", List.of(Shape.scalar()))
            .attr("capacity", 100)
            .attr("min_after_dequeue", 10)
            .attr("seed", 3)
            .add()
            .output();
    long[] in = new long[40];
    Arrays.setAll(in, i -> i);
    session.run(putMany(q, in));
    long[] first = session.fetch(takeMany(q, 30).output()).toLongs();
    TinySession.Pending waiting = session.start(takeMany(q, 10)).awaitStarted();
    assertFalse(waiting.isDone());
    session.run(QueueAccess.close(scope, q, false));
    long[] rest = waiting.get()[0].toLongs();
    long[] all = Arrays.copyOf(first, 40);
    System.arraycopy(rest, 0, all, 30, 10);
    assertFalse(Arrays.equals(in, all));
    Arrays.sort(all);
    assertArrayEquals(in, all);
  }

  @Test
  void paddingFillsUpToTheLongest() {
    Output q =
        scope
            .node("PaddingFIFOQueueV2")
            .attr("component_types", List.of(DType.FLOAT, DType.STRING))
            .attr("shapes", List.of(Shape.of(-1, 2), Shape.of(-1)))
            .add()
            .output();
    Tensor a = Tensor.of(Shape.of(1, 2), 1f, 2f);
    Tensor b = Tensor.of(Shape.of(2, 2), 3f, 4f, 5f, 6f);
    session.run(
        QueueAccess.enqueue(
            scope, q, List.of(session.constant(a), session.constant(Tensor.vector("x", "y")))));
    session.run(
        QueueAccess.enqueue(
            scope, q, List.of(session.constant(b), session.constant(Tensor.vector("z")))));
    Node take =
        QueueAccess.dequeueMany(
            scope, q, session.constant(Tensor.scalar(2)), List.of(DType.FLOAT, DType.STRING));
    assertEquals(Shape.of(2, -1, 2), take.output(0).shape());
    Tensor[] out = session.run(take.output(0), take.output(1));
    assertEquals(Shape.of(2, 2, 2), out[0].shape());
    assertArrayEquals(new float[] {1, 2, 0, 0, 3, 4, 5, 6}, out[0].toFloats());
    assertArrayEquals(new String[] {"x", "y", "z", ""}, out[1].toStrings());
  }

  @Test
  void theSmallestPriorityLeavesFirst() {
    Output q =
        scope
            .node("PriorityQueueV2")
            .attr("component_types", List.of(DType.STRING))
            .attr("shapes", List.of(Shape.scalar()))
            .add()
            .output();
    List<DType> types = List.of(DType.INT64, DType.STRING);
    session.run(
        QueueAccess.enqueueMany(
            scope,
            q,
            List.of(
                session.constant(Tensor.vector(5L, -1L, 5L, 2L)),
                session.constant(Tensor.vector("a", "b", "c", "d")))));
    Node take = QueueAccess.dequeueMany(scope, q, session.constant(Tensor.scalar(4)), types);
    Tensor[] out = session.run(take.output(0), take.output(1));
    assertArrayEquals(new long[] {-1, 2, 5, 5}, out[0].toLongs());
    assertArrayEquals(new String[] {"b", "d", "a", "c"}, out[1].toStrings());
  }

  @Test
  void aStagingAreaIsBoundedByNumberAndBytes() {
    Output v = session.constant(Tensor.vector(1f, 2f, 3f));
    Node stage = staging("Stage", 16).inputs(List.of(v)).add();
    Node unstage = staging("Unstage", 16).attr("dtypes", List.of(DType.FLOAT)).add();
    session.run(stage);
    TinySession.Pending second = session.start(stage).awaitStarted();
    assertFalse(second.isDone());
    assertArrayEquals(new float[] {1, 2, 3}, session.fetch(unstage.output(0)).toFloats());
    second.get();
    Node large =
        staging("Stage", 16).inputs(List.of(session.constant(Tensor.vector(new float[5])))).add();
    fails(Code.RESOURCE_EXHAUSTED, "20 bytes", () -> session.run(large));
  }

  private NodeBuilder staging(String op, int limit) {
    return scope.node(op).attr("memory_limit", limit).attr("shared_name", "area");
  }
}
