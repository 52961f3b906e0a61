package dev.millrace.cluster.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.queue.QueueAccess;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.AssignAdd;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** How steps and sessions end: deadlines, closing, interrupts; and steps side by side. */
class SessionLifeContractTest extends SessionContract {
  private static final Duration SOON = Duration.ofMillis(50);
  private static final String CLOSED = "Session has been closed.";
  private static final String CANCELLED =
      "Step was cancelled by an explicit call to `Session::Close()`.";

  /** Closes a session before its block ends. */
  private static void close(Session s) {
    s.close();
  }

  private Output block(String name) {
    return scope.withName(name).node(BLOCK).add().output();
  }

  private Output dequeue() {
    Output queue =
        scope
            .withName("queue")
            .node("FIFOQueueV2")
            .attr("component_types", List.of(DType.FLOAT))
            .add()
            .output();
    return QueueAccess.dequeue(scope.withName("taken"), queue, List.of(DType.FLOAT)).output(0);
  }

  @EveryKind
  void aTimeoutEndsAStepAndNamesWhatItWaitsFor(SessionKind kind) {
    Output taken = dequeue();
    try (Session s = open(kind)) {
      RunOptions brief = RunOptions.DEFAULT.withTimeout(SOON);
      refused(
          Code.DEADLINE_EXCEEDED,
          "Step N took longer than its timeout of 50 ms. It was waiting for 'taken' on TASK.",
          () -> s.run(Map.of(), List.of(taken), List.of(), brief));
    }
  }

  // README claim: hang-session
  @EveryKind
  void aSessionHasATimeoutForStepsThatNameNone(SessionKind kind) {
    Output taken = dequeue();
    try (Session s = open(kind, SOON)) {
      refused(
          Code.DEADLINE_EXCEEDED,
          "Step N took longer than its timeout of 50 ms. It was waiting for 'taken' on TASK.",
          () -> s.fetch(taken));
    }
  }

  @EveryKind
  void aCallableHasTheTimeoutOfItsSession(SessionKind kind) {
    Output taken = dequeue();
    try (Session s = open(kind, SOON)) {
      refused(
          Code.DEADLINE_EXCEEDED,
          "Step N took longer than its timeout of 50 ms. It was waiting for 'taken' on TASK.",
          () -> s.makeCallable(List.of(), List.of(taken), List.of()).run());
    }
  }

  @EveryKind
  void allThatAStepWaitsForIsNamed(SessionKind kind) throws InterruptedException {
    Output sum = Arithmetic.add(scope, block("b"), block("a"));
    try (Session s = open(kind, SOON)) {
      refused(
          Code.DEADLINE_EXCEEDED,
          "Step N took longer than its timeout of 50 ms. It was waiting for 'a' on TASK, 'b' on"
              + " TASK.",
          () -> s.fetch(sum));
    }
    awaitBlocked(2);
  }

  @EveryKind
  void aStepMayTakeLongerThanItsSessionSays(SessionKind kind) throws Throwable {
    Output y = block("y");
    try (Session s = open(kind, SOON)) {
      RunOptions patient = RunOptions.DEFAULT.withoutTimeout();
      var end = inBackground(() -> s.run(Map.of(), List.of(y), List.of(), patient), null);
      awaitBlocked(1);
      // A step with the session's limit ends, the other one goes on.
      refused(
          Code.DEADLINE_EXCEEDED,
          "Step N took longer than its timeout of 50 ms. It was waiting for 'y' on TASK.",
          () -> s.fetch(y));
      awaitBlocked(1);
      assertTrue(!end.isDone(), "it has no limit");
      close(s);
      refused(Code.CANCELLED, CANCELLED, rethrowing(end));
    }
  }

  @EveryKind
  void aSessionMayHaveNoTimeout(SessionKind kind) throws Throwable {
    Output y = block("y");
    try (Session s = open(kind, Duration.ZERO)) {
      var end = inBackground(() -> s.fetch(y), null);
      awaitBlocked(1);
      close(s);
      refused(Code.CANCELLED, CANCELLED, rethrowing(end));
    }
  }

  @EveryKind
  void aStepThatEndsInTimeIsNotEnded(SessionKind kind) {
    Output a = Const.of(scope, 3f);
    try (Session s = open(kind, Duration.ofSeconds(60))) {
      for (int i = 0; i < 20; i++) {
        assertEquals(3, fetch(s, a).floatValue());
      }
    }
  }

  @EveryKind
  void aStepThatTimedOutLeavesTheSessionUsable(SessionKind kind) {
    Output taken = dequeue();
    Output a = Const.of(scope, 3f);
    try (Session s = open(kind)) {
      RunOptions brief = RunOptions.DEFAULT.withTimeout(SOON);
      for (int i = 0; i < 2; i++) {
        refused(
            Code.DEADLINE_EXCEEDED,
            "Step N took longer than its timeout of 50 ms. It was waiting for 'taken' on TASK.",
            () -> s.run(Map.of(), List.of(taken), List.of(), brief));
        assertEquals(3, fetch(s, a).floatValue());
      }
    }
  }

  @EveryKind
  void closingEndsStepsUnderWay(SessionKind kind) throws Throwable {
    Output y = block("y");
    Session s = open(kind);
    List<CompletableFuture<Throwable>> ends = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      ends.add(inBackground(() -> s.fetch(y), null));
    }
    awaitBlocked(3);
    s.close();
    for (CompletableFuture<Throwable> end : ends) {
      refused(Code.CANCELLED, CANCELLED, rethrowing(end));
    }
  }

  @EveryKind
  void aClosedSessionRunsNothing(SessionKind kind) {
    Output a = Const.of(scope, 1f);
    Session s = open(kind);
    fetch(s, a);
    s.close();
    refused(Code.CANCELLED, CLOSED, () -> fetch(s, a));
    refused(Code.CANCELLED, CLOSED, () -> s.run(a.node()));
    refused(Code.CANCELLED, CLOSED, () -> s.makeCallable(List.of(), List.of(a), List.of()).run());
  }

  @EveryKind
  void aCallableEndsWithItsSession(SessionKind kind) {
    Output a = Const.of(scope, 1f);
    Session s = open(kind);
    Session.Callable c = s.makeCallable(List.of(), List.of(a), List.of());
    assertEquals(1, kept(c.run()[0]).floatValue());
    s.close();
    refused(Code.CANCELLED, CLOSED, c::run);
  }

  @EveryKind
  void aSessionIsClosedTwice(SessionKind kind) {
    Session s = open(kind);
    fetch(s, Const.of(scope, 1f));
    s.close();
    s.close();
    refused(Code.CANCELLED, CLOSED, () -> s.run(graph.nodes().getFirst()));
  }

  @EveryKind
  void aSessionIsClosedThatRanNothing(SessionKind kind) {
    Output a = Const.of(scope, 1f);
    Session s = open(kind);
    s.close();
    refused(Code.CANCELLED, CLOSED, () -> fetch(s, a));
  }

  @EveryKind
  void aMistakeIsRefusedAfterClosingAsWell(SessionKind kind) {
    Output x = floats("x");
    Output y = Identity.of(scope, x);
    Session s = open(kind);
    s.close();
    refused(Code.CANCELLED, CLOSED, () -> fetch(s, y, x, Tensor.scalar(1)));
  }

  @EveryKind
  void anInterruptEndsAStepThatWaits(SessionKind kind) throws Throwable {
    Output y = block("y");
    try (Session s = open(kind)) {
      Thread[] thread = new Thread[1];
      boolean[] known = new boolean[1];
      var end =
          inBackground(
              () -> {
                try {
                  s.fetch(y);
                } finally {
                  known[0] = Thread.currentThread().isInterrupted();
                }
              },
              thread);
      awaitBlocked(1);
      thread[0].interrupt();
      refused(
          Code.CANCELLED,
          "The step was cancelled: the thread that ran it was interrupted.",
          rethrowing(end));
      assertTrue(known[0], "the thread is still interrupted");
    }
  }

  @EveryKind
  void stepsRunSideBySide(SessionKind kind) throws Throwable {
    Output x = floats("x");
    Output y = node("y", "Square", x);
    try (Session s = open(kind)) {
      List<CompletableFuture<Throwable>> ends = new ArrayList<>();
      for (int t = 0; t < 4; t++) {
        float first = t * 100;
        ends.add(
            inBackground(
                () -> {
                  for (int i = 0; i < 25; i++) {
                    float v = first + i;
                    try (Tensor in = Tensor.scalar(v);
                        Tensor r = s.fetch(y, Map.of(x, in))) {
                      assertEquals(v * v, r.floatValue());
                    }
                  }
                },
                null));
      }
      for (CompletableFuture<Throwable> end : ends) {
        rethrowing(end).execute();
      }
    }
  }

  @EveryKind
  void noUpdateIsLostBetweenStepsSideBySide(SessionKind kind) throws Throwable {
    Output v = VariableV2.of(scope.withName("v"), DType.FLOAT, Shape.scalar());
    Node init = Assign.of(scope, v, Const.of(scope, 0f));
    Node more =
        scope
            .node(AssignAdd.ADD)
            .input(v)
            .input(Const.of(scope, 1f))
            .attr("use_locking", true)
            .add();
    try (Session s = open(kind)) {
      run(s, init);
      List<CompletableFuture<Throwable>> ends = new ArrayList<>();
      for (int t = 0; t < 4; t++) {
        ends.add(
            inBackground(
                () -> {
                  for (int i = 0; i < 25; i++) {
                    s.run(more);
                  }
                },
                null));
      }
      for (CompletableFuture<Throwable> end : ends) {
        assertNull(end.get());
      }
      assertEquals(100, fetch(s, v).floatValue());
    }
  }

  @EveryKind
  void aStepThatFailsDoesNotEndAnother(SessionKind kind) throws Throwable {
    Output y = block("y");
    Output x = placeholder("x", DType.INT32, Shape.scalar());
    Output z = Arithmetic.floorDiv(scope.withName("z"), Const.of(scope, 1), x);
    try (Session s = open(kind)) {
      var end = inBackground(() -> s.fetch(y), null);
      awaitBlocked(1);
      refused(
          INVALID,
          "Integer division by zero\n\t [[{{node z}}]]",
          () -> fetch(s, z, x, Tensor.scalar(0)));
      assertTrue(!end.isDone(), "the other step goes on");
      close(s);
      refused(Code.CANCELLED, CANCELLED, rethrowing(end));
    }
  }

  @EveryKind
  void aFailureEndsWhatElseTheStepWaitsFor(SessionKind kind) throws InterruptedException {
    Output x = placeholder("x", DType.INT32, Shape.scalar());
    Output z = Arithmetic.floorDiv(scope.withName("z"), Const.of(scope, 1), x);
    Output y = block("y");
    try (Session s = open(kind)) {
      Map<Output, Tensor> feeds = Map.of(x, kept(Tensor.scalar(0)));
      refused(
          INVALID,
          "Integer division by zero\n\t [[{{node z}}]]",
          () -> s.run(feeds, List.of(z, y), List.of()));
    }
    BLOCKED.drainPermits();
  }
}
