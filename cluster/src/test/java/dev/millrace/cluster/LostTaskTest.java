package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.ThisUser;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.AssignAdd;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.testkit.Slow;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Tasks in processes of their own that are killed or stopped, between steps and in them. */
@Slow
class LostTaskTest {
  /** Four on a machine with time for it; a step's own limits are minutes. */
  private static final double LIMIT_SECONDS = 15;

  private ClusterSpec cluster;
  private final Graph graph = StandardOps.newGraph();
  private Output x;
  private Output quick;
  private Output blocked;

  /** A step from ps to worker 1 to worker 0, and the same behind a queue on ps that stays empty. */
  @BeforeEach
  void makeGraph() {
    List<String> a = FreePorts.addresses(3);
    cluster = ClusterSpec.of(Map.of("ps", a.subList(0, 1), "worker", a.subList(1, 3)));
    Scope s = Scope.of(graph);
    Scope ps = s.withDevice("/job:ps/task:0");
    x = Placeholder.of(s, DType.FLOAT, Shape.of(-1));
    quick = overWorkers(ps.node("Neg").input(x).add().output());
    Node queue = ps.node("FIFOQueueV2").attr("component_types", List.of(DType.FLOAT)).add();
    Node dequeue =
        ps.node("QueueDequeueV2")
            .input(queue.output(0))
            .attr("component_types", List.of(DType.FLOAT))
            .add();
    blocked = overWorkers(dequeue.output(0));
  }

  private Output overWorkers(Output value) {
    Scope s = Scope.of(graph);
    Output there = s.withDevice("/job:worker/task:1").node("Neg").input(value).add().output();
    return s.withDevice("/job:worker/task:0").node("Square").input(there).add().output();
  }

  private Map<Output, Tensor> feeds() {
    return Map.of(x, Tensor.vector(3f));
  }

  private Server workerZero() {
    return Server.start(cluster, new TaskId("worker", 0), StandardOps.registry());
  }

  @AfterEach
  void noFilesAreLeft() {
    // Folders of killed tasks go when the next task starts.
    Server.createLocalServer(StandardOps.registry()).close();
  }

  private interface Blow {
    void to(ServerProcess p) throws Exception;
  }

  /** Runs the step that does not end, strikes a task, and returns how the step ended. */
  private MillraceException during(Session session, ServerProcess struck, Blow blow)
      throws Exception {
    return during(session, struck, blow, LIMIT_SECONDS);
  }

  private MillraceException during(
      Session session, ServerProcess struck, Blow blow, double limitSeconds) throws Exception {
    // On a thread of its own: the shared ones are as few as the machine's processors.
    CompletableFuture<Tensor> step =
        CompletableFuture.supplyAsync(
            () -> session.fetch(blocked), run -> Thread.ofPlatform().daemon().start(run));
    // The step is under way when one after it has run.
    assertEquals(9f, session.fetch(quick, feeds()).floatValue());
    assertFalse(step.isDone());
    long start = System.nanoTime();
    blow.to(struck);
    ExecutionException e =
        assertThrows(ExecutionException.class, () -> step.get(60, TimeUnit.SECONDS));
    double seconds = (System.nanoTime() - start) / 1e9;
    assertTrue(seconds < limitSeconds, "took " + seconds + " s");
    return MillraceException.of(e);
  }

  private void assertNames(MillraceException e, TaskId task) {
    assertEquals(Code.UNAVAILABLE, e.code(), e::getMessage);
    assertTrue(e.getMessage().contains(task.name()), e::getMessage);
    assertTrue(e.getMessage().contains(cluster.address(task)), e::getMessage);
    for (TaskId other : cluster.tasks()) {
      assertTrue(
          other.equals(task) || !e.getMessage().contains(cluster.address(other)), e::getMessage);
    }
  }

  // README claim: hang-named
  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void aTaskKilledOrStoppedInAStepEndsItEverywhereAndIsNamed() throws Exception {
    TaskId ps = new TaskId("ps", 0);
    TaskId other = new TaskId("worker", 1);
    try (Server master = workerZero();
        ServerProcess worker = ServerProcess.start(cluster, other)) {
      try (ServerProcess stopped = ServerProcess.start(cluster, ps);
          Session session = new ClusterSession(graph, master.target())) {
        assertEquals(9f, session.fetch(quick, feeds()).floatValue());
        MillraceException e = during(session, stopped, ServerProcess::stop);
        assertNames(e, ps);
        // Its link or a question it does not answer: whichever notices first.
        assertTrue(
            e.getMessage().contains("no sign of life") || e.getMessage().contains("stopped"),
            e::getMessage);
        // Between steps it is noticed too.
        long start = System.nanoTime();
        assertNames(assertThrows(MillraceException.class, () -> session.fetch(quick, feeds())), ps);
        assertTrue(System.nanoTime() - start < LIMIT_SECONDS * 1e9);
        stopped.resume();
        // It was never gone: the same session goes on.
        eventually(() -> succeeds(session));
      }
      try (ServerProcess killed = ServerProcess.start(cluster, ps);
          Session session = new ClusterSession(graph, master.target())) {
        assertEquals(9f, session.fetch(quick, feeds()).floatValue());
        assertNames(during(session, killed, ServerProcess::kill), ps);
        assertNames(assertThrows(MillraceException.class, () -> session.fetch(quick, feeds())), ps);
        try (ServerProcess _ = ServerProcess.start(cluster, ps)) {
          // Another process at the same place is not the one the session knew.
          eventually(() -> failure(session).getMessage().contains("restarted"));
          assertEquals(Code.ABORTED, failure(session).code());
          try (Session fresh = new ClusterSession(graph, master.target())) {
            assertEquals(9f, fresh.fetch(quick, feeds()).floatValue());
            assertNames(during(fresh, worker, ServerProcess::kill), other);
          }
          eventually(() -> master.worker().stepCount() == 0);
        }
      }
    }
  }

  /** The step that reaches a stopped task stays in its socket, and is given up meanwhile. */
  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void aStepThatFailedForAStoppedTaskIsNotRunWhenThatGoesOn() throws Exception {
    Scope ps = Scope.of(graph).withDevice("/job:ps/task:0");
    Output counter = VariableV2.of(ps, DType.FLOAT, Shape.of(1));
    Node reset = Assign.of(ps, counter, Const.of(ps, Tensor.vector(0f)));
    Output one =
        Scope.of(graph).withDevice("/job:worker/task:0").node("Neg").input(x).add().output();
    List<Node> adds =
        List.of(
            AssignAdd.of(ps, counter, Const.of(ps, Tensor.vector(1f))),
            // What is added comes from the worker, after the call.
            AssignAdd.of(ps, counter, one));
    Output value = ps.node("Identity").input(counter).add().output();
    try (Server master = workerZero();
        ServerProcess _ = ServerProcess.start(cluster, new TaskId("worker", 1));
        ServerProcess stopped = ServerProcess.start(cluster, new TaskId("ps", 0));
        Session session = new ClusterSession(graph, master.target())) {
      session.run(reset);
      for (Node add : adds) {
        session.run(Map.of(x, Tensor.vector(-1f)), List.of(), List.of(add));
      }
      assertEquals(2f, session.fetch(value).toFloats()[0]);
      stopped.stop();
      List<CompletableFuture<MillraceException>> failures =
          adds.stream()
              .map(
                  add ->
                      CompletableFuture.supplyAsync(
                          () ->
                              assertThrows(
                                  MillraceException.class,
                                  () ->
                                      session.run(
                                          Map.of(x, Tensor.vector(-1f)), List.of(), List.of(add))),
                          run -> Thread.ofPlatform().daemon().start(run)))
              .toList();
      for (CompletableFuture<MillraceException> f : failures) {
        assertEquals(Code.UNAVAILABLE, f.get(60, TimeUnit.SECONDS).code());
      }
      // Nor one that is tried while the task is known to be lost.
      assertThrows(MillraceException.class, () -> session.run(adds.getFirst()));
      stopped.resume();
      eventually(() -> succeeds(session));
      for (int i = 0; i < 200; i++) {
        assertEquals(2f, session.fetch(value).toFloats()[0]);
      }
    }
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void aStoppedTaskKeepsItsFolderAndAKilledOneDoesNot() throws Exception {
    String folders = "link-%d-";
    try (ServerProcess ps = ServerProcess.start(cluster, new TaskId("ps", 0))) {
      ps.stop();
      String its = String.format(folders, ps.pid());
      Server.createLocalServer(StandardOps.registry()).close();
      assertEquals(2, shared(its), "a folder and its lock");
      ps.kill();
      Server.createLocalServer(StandardOps.registry()).close();
      assertEquals(0, shared(its));
    }
  }

  private static long shared(String prefix) throws Exception {
    Path folder = Path.of("/dev/shm", "millrace-" + ThisUser.name());
    try (var files = Files.list(folder)) {
      return files.filter(f -> f.getFileName().toString().startsWith(prefix)).count();
    }
  }

  private MillraceException failure(Session session) {
    return assertThrows(MillraceException.class, () -> session.fetch(quick, feeds()));
  }

  private boolean succeeds(Session session) {
    try {
      return session.fetch(quick, feeds()).floatValue() == 9f;
    } catch (MillraceException e) {
      assertEquals(Code.UNAVAILABLE, e.code(), e::getMessage);
      return false;
    }
  }

  /** Waits, for at most a minute, until it is so. */
  private static void eventually(BooleanSupplier claim) {
    long deadline = System.nanoTime() + 60_000_000_000L;
    while (!claim.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadline, "did not happen within 60 s");
      Thread.onSpinWait();
      java.util.concurrent.locks.LockSupport.parkNanos(10_000_000);
    }
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void aMasterKilledOrStoppedInAStepFreesItsWorkersAndFailsItsClient() throws Exception {
    for (Blow blow : List.<Blow>of(ServerProcess::kill, ServerProcess::stop)) {
      try (Server worker = workerZero();
          ServerProcess _ = ServerProcess.start(cluster, "ps");
          ServerProcess master = ServerProcess.start(cluster, new TaskId("worker", 1));
          Session session =
              new ClusterSession(graph, "grpc://" + cluster.address(new TaskId("worker", 1)))) {
        assertEquals(9f, session.fetch(quick, feeds()).floatValue());
        MillraceException e = during(session, master, blow);
        assertNames(e, new TaskId("worker", 1));
        eventually(() -> worker.worker().stepCount() == 0);
      }
    }
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void inAClusterThatTheSessionNamesAStoppedTaskIsNoticedToo() throws Exception {
    ConfigProto config = ConfigProto.newBuilder().setClusterDef(cluster.encode()).build();
    try (Server master = workerZero();
        ServerProcess ps = ServerProcess.start(cluster, "ps");
        ServerProcess _ = ServerProcess.start(cluster, new TaskId("worker", 1));
        Session session =
            new ClusterSession(
                graph, "grpc://" + cluster.address(new TaskId("worker", 0)), config)) {
      assertEquals(9f, session.fetch(quick, feeds()).floatValue());
      MillraceException e = during(session, ps, ServerProcess::stop, 40);
      assertNames(e, new TaskId("ps", 0));
      ps.resume();
      eventually(() -> master.worker().stepCount() == 0);
    }
  }

  @Test
  @Execution(ExecutionMode.CONCURRENT)
  void withoutLinksAStoppedTaskIsNoticedToo() throws Exception {
    // As it is with TensorFlow's processes.
    String none = "-Dmillrace.link=false";
    try (Server master = workerZero();
        ServerProcess ps = ServerProcess.start(cluster, new TaskId("ps", 0), none);
        ServerProcess other = ServerProcess.start(cluster, new TaskId("worker", 1), none);
        Session direct = new ClusterSession(graph, master.target());
        Session remote =
            new ClusterSession(graph, "grpc://" + cluster.address(new TaskId("worker", 1)))) {
      assertEquals(9f, direct.fetch(quick, feeds()).floatValue());
      assertEquals(9f, remote.fetch(quick, feeds()).floatValue());
      MillraceException e = during(direct, ps, ServerProcess::stop);
      assertNames(e, new TaskId("ps", 0));
      ps.resume();
      eventually(() -> succeeds(remote));
      MillraceException gone = during(remote, other, ServerProcess::stop);
      assertEquals(Code.UNAVAILABLE, gone.code(), gone::getMessage);
      assertTrue(
          gone.getMessage().contains(cluster.address(new TaskId("worker", 1))), gone::getMessage);
      other.resume();
    }
  }
}
