package dev.millrace.runtime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class LocalSessionTest {
  private static final AtomicInteger RUNS = new AtomicInteger();

  /** y = x + 1, counting how often it runs. */
  private static final Op PLUS_ONE =
      Op.define("PlusOne")
          .attr("T: {float}")
          .input("x: T")
          .output("y: T")
          .shape(Shapes.like(0))
          .kernel(
              c -> {
                RUNS.incrementAndGet();
                Tensor x = c.input(0);
                Tensor y = c.allocateOrReuse(0, 0, x.shape());
                for (long i = 0; i < x.elements(); i++) {
                  y.setDouble(i, x.doubleAt(i) + 1);
                }
              })
          .noGradient("a toy")
          .build();

  /** Never completes until the step is cancelled. */
  private static final Op FOREVER =
      Op.define("Forever")
          .output("y: float")
          .stateful()
          .shape(Shapes.scalar())
          .asyncKernel(
              node ->
                  (c, done) ->
                      c.cancellation()
                          .onCancel(
                              () -> {
                                c.fail(c.cancellation().cause());
                                done.run();
                              }))
          .noGradient("a toy")
          .build();

  private static Graph graph() {
    List<Op> ops = new ArrayList<>(StandardOps.ALL);
    ops.add(PLUS_ONE);
    ops.add(FOREVER);
    return new Graph(OpRegistry.of(ops));
  }

  @Test
  void feedsReachFetches() {
    Graph g = graph();
    Scope s = Scope.of(g);
    Output x = Placeholder.of(s, DType.FLOAT, Shape.of(-1));
    Output y = s.add(PLUS_ONE, s.add(PLUS_ONE, x).output()).output();
    try (Session session = new LocalSession(g)) {
      Tensor r = session.fetch(y, Map.of(x, Tensor.vector(1f, 2f)));
      assertArrayEquals(new float[] {3, 4}, r.toFloats());
    }
  }

  @Test
  void onlyWhatIsNeededRuns() {
    Graph g = graph();
    Scope s = Scope.of(g);
    Output x = Placeholder.of(s, DType.FLOAT, Shape.scalar());
    s.add(PLUS_ONE, x);
    Output y = s.add(PLUS_ONE, x).output();
    try (Session session = new LocalSession(g)) {
      RUNS.set(0);
      session.fetch(y, Map.of(x, Tensor.scalar(1f)));
      assertEquals(1, RUNS.get());
    }
  }

  @Test
  void constantsAreFoldedAndTwinsShared() {
    Graph g = graph();
    Scope s = Scope.of(g);
    Output c = s.add(PLUS_ONE, Const.of(s, 1f)).output();
    Output d = s.add(PLUS_ONE, Const.of(s, 1f)).output();
    try (Session session = new LocalSession(g)) {
      session.run(Map.of(), List.of(c, d), List.of());
      RUNS.set(0);
      List<Tensor> r = session.run(Map.of(), List.of(c, d), List.of());
      assertEquals(2f, r.get(0).floatValue());
      assertEquals(2f, r.get(1).floatValue());
      assertEquals(0, RUNS.get());
    }
  }

  @Test
  void variablesKeepTheirValueBetweenRuns() {
    Graph g = graph();
    Scope s = Scope.of(g);
    Output v = VariableV2.of(s.withName("v"), DType.FLOAT, Shape.of(2));
    Node init = Assign.of(s, v, Const.of(s, Tensor.vector(5f, 6f)));
    Output read = Identity.of(s, v);
    try (Session session = new LocalSession(g)) {
      MillraceException e = assertThrows(MillraceException.class, () -> session.fetch(read));
      assertEquals(Code.FAILED_PRECONDITION, e.code());
      assertTrue(
          e.getMessage().startsWith("Attempting to use uninitialized value v"), e::getMessage);
      session.run(init);
      assertArrayEquals(new float[] {5, 6}, session.fetch(read).toFloats());
    }
  }

  @Test
  void aReadThroughAReferenceSeesLaterAssignments() {
    Graph g = graph();
    Scope s = Scope.of(g);
    Output v = VariableV2.of(s.withName("v"), DType.FLOAT, Shape.scalar());
    Node init = Assign.of(s, v, Const.of(s, 1f));
    Output read = Identity.of(s, v);
    Node assign =
        s.withControlInputs(read.node()).node(Assign.OP).input(v).input(Const.of(s, 9f)).add();
    Output late = s.withControlInputs(assign).add(PLUS_ONE, read).output();
    try (Session session = new LocalSession(g)) {
      session.run(init);
      assertEquals(10f, session.fetch(late).floatValue());
    }
  }

  @Test
  void anUnfedPlaceholderIsNamed() {
    Graph g = graph();
    Scope s = Scope.of(g);
    Output x = Placeholder.of(s.withName("x"), DType.FLOAT, Shape.of(-1, 3));
    Output y = s.add(PLUS_ONE, x).output();
    try (Session session = new LocalSession(g)) {
      MillraceException e = assertThrows(MillraceException.class, () -> session.fetch(y));
      assertEquals(Code.INVALID_ARGUMENT, e.code());
      assertTrue(
          e.getMessage()
              .contains(
                  "You must feed a value for placeholder tensor 'x' with dtype float and shape"
                      + " [?,3]"),
          e::getMessage);
    }
  }

  @Test
  void aFeedOfTheWrongShapeIsRefused() {
    Graph g = graph();
    Scope s = Scope.of(g);
    Output x = Placeholder.of(s.withName("x"), DType.FLOAT, Shape.of(-1, 3));
    Output y = s.add(PLUS_ONE, x).output();
    try (Session session = new LocalSession(g)) {
      MillraceException e =
          assertThrows(
              MillraceException.class, () -> session.fetch(y, Map.of(x, Tensor.vector(1f))));
      assertTrue(e.getMessage().contains("[1]") && e.getMessage().contains("[?,3]"));
    }
  }

  @Test
  void aTimeoutEndsAStepThatWaits() {
    Graph g = graph();
    Output y = Scope.of(g).node(FOREVER).add().output();
    try (Session session = new LocalSession(g)) {
      MillraceException e =
          assertThrows(
              MillraceException.class,
              () ->
                  session.run(
                      Map.of(),
                      List.of(y),
                      List.of(),
                      RunOptions.DEFAULT.withTimeout(Duration.ofMillis(50))));
      assertEquals(Code.DEADLINE_EXCEEDED, e.code());
    }
  }

  @Test
  void closingEndsStepsInFlight() throws Exception {
    Graph g = graph();
    Output y = Scope.of(g).node(FOREVER).add().output();
    Session session = new LocalSession(g);
    java.util.concurrent.CompletableFuture<Throwable> ended =
        new java.util.concurrent.CompletableFuture<>();
    Thread t =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    session.fetch(y);
                    ended.complete(null);
                  } catch (Throwable e) {
                    ended.complete(e);
                  }
                });
    long deadline = System.nanoTime() + 60_000_000_000L;
    while (t.getState() != Thread.State.TIMED_WAITING
        && !ended.isDone()
        && System.nanoTime() < deadline) {
      Thread.onSpinWait();
    }
    session.close();
    Throwable e = ended.get(60, java.util.concurrent.TimeUnit.SECONDS);
    assertEquals(Code.CANCELLED, ((MillraceException) e).code());
  }

  @Test
  void nodesOnSeveralDevicesExchangeTensors() {
    Graph g = graph();
    Scope s = Scope.of(g);
    Output x = Placeholder.of(s, DType.FLOAT, Shape.scalar());
    Output a = s.withDevice("/cpu:1").add(PLUS_ONE, x).output();
    Output b = s.withDevice("/cpu:0").add(PLUS_ONE, a).output();
    Output c = s.withDevice("/cpu:2").withControlInputs(a.node()).add(PLUS_ONE, b).output();
    ByteArrayOutputStream log = new ByteArrayOutputStream();
    SessionOptions o =
        SessionOptions.DEFAULT.withCpuDevices(3).withPlacementLog(new PrintStream(log));
    try (Session session = new LocalSession(g, o)) {
      for (int i = 0; i < 100; i++) {
        assertEquals(i + 3f, session.fetch(c, Map.of(x, Tensor.scalar((float) i))).floatValue());
      }
    }
    assertTrue(
        log.toString().contains("PlusOne: (PlusOne): /job:localhost/replica:0/task:0/device:CPU:1"),
        log::toString);
  }

  @Test
  void aMissingDeviceIsNamedWithThoseThereAre() {
    Graph g = graph();
    Scope s = Scope.of(g).withDevice("/job:ps/task:3");
    Output y = s.add(PLUS_ONE, Const.of(s, 1f)).output();
    try (Session session = new LocalSession(g)) {
      MillraceException e = assertThrows(MillraceException.class, () -> session.fetch(y));
      assertTrue(e.getMessage().contains("/job:ps/task:3"), e::getMessage);
      assertTrue(e.getMessage().contains("/job:localhost/replica:0/task:0/device:CPU:0"));
    }
  }

  @Test
  void aClosedSessionGivesTheMemoryOfItsVariablesBack() {
    Graph g = StandardOps.newGraph();
    Scope s = Scope.of(g);
    Output v = VariableV2.of(s, DType.FLOAT, Shape.of(1000));
    Node assign = Assign.of(s, v, Const.of(s, Tensor.vector(new float[1000])));
    long before = BufferPool.current().usedBytes();
    try (Session session = new LocalSession(g)) {
      session.run(assign);
      assertTrue(BufferPool.current().usedBytes() >= before + 4000);
    }
    assertTrue(BufferPool.current().usedBytes() <= before, "memory is left behind");
  }

  @Test
  void aWarmStepTakesNoMemoryFromTheSystem() {
    Graph g = graph();
    Scope s = Scope.of(g);
    Output x = Placeholder.of(s, DType.FLOAT, Shape.of(-1));
    Output y = x;
    for (int i = 0; i < 10; i++) {
      y = s.add(PLUS_ONE, y).output();
    }
    Output last = y;
    try (Session session = new LocalSession(g);
        Tensor in = Tensor.vector(new float[1000])) {
      for (int i = 0; i < 10; i++) {
        session.fetch(last, Map.of(x, in)).close();
      }
      long allocations = BufferPool.current().nativeAllocations();
      long used = BufferPool.current().usedBytes();
      for (int i = 0; i < 100; i++) {
        session.fetch(last, Map.of(x, in)).close();
      }
      assertEquals(allocations, BufferPool.current().nativeAllocations());
      assertTrue(BufferPool.current().usedBytes() <= used, "memory is left behind");
    }
  }
}
