package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.RecordingStore.Event;
import dev.millrace.cluster.RecordingStore.Kind;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.accumulator.AccumulatorOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.queue.QueueAccess;
import dev.millrace.ops.queue.QueueHandles;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.AssignAdd;
import dev.millrace.ops.state.AssignVariable;
import dev.millrace.ops.state.Scatter;
import dev.millrace.ops.state.VarHandle;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.runtime.SessionOptions;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every change passes the task's store, which commits each step before it is acknowledged. */
class VariableStoreTest {
  private static final int STEPS = 25;

  private final RecordingStore store = new RecordingStore();

  /** A variable of each kind, each changed by one and read, and one that cannot be changed. */
  private static final class Model {
    final Graph graph = StandardOps.newGraph();
    final Scope scope;
    final Output ref;
    final Output handle;
    final Node start;
    final Output amount;
    final Node addRef;
    final Node addResource;
    final Node row;
    final Node spoil;

    Model(String device) {
      scope = Scope.of(graph).withDevice(device);
      ref = VariableV2.of(scope.withName("ref"), DType.FLOAT, Shape.of(2));
      handle =
          scope
              .withName("resource")
              .node(VarHandle.OP)
              .attr("shared_name", "resource")
              .attr("dtype", DType.FLOAT)
              .attr("shape", Shape.of(2))
              .add()
              .output();
      Output zeros = Const.of(scope, Tensor.vector(0f, 0f));
      Node startRef = Assign.of(scope, ref, zeros);
      start = AssignVariable.of(scope.withControlInputs(startRef), handle, zeros);
      amount = Placeholder.of(scope, DType.FLOAT, Shape.of(2));
      addRef = AssignAdd.of(scope, ref, amount);
      addResource = AssignAdd.of(scope, handle, amount);
      row = Scatter.add(scope, handle, Const.ints(scope, 1), Const.of(scope, Tensor.vector(1f)));
      // The change has been made when the check that follows it fails.
      Output no = Const.of(scope.withControlInputs(addRef), Tensor.scalar(false));
      spoil = scope.node("Assert").input(no).inputs(List.of(Const.of(scope, 0f))).add();
    }

    void add(Session s, Node... nodes) {
      try (Tensor one = Tensor.vector(1f, 1f)) {
        s.run(Map.of(amount, one), List.of(), List.of(nodes));
      }
    }
  }

  private Session local(Graph graph) {
    return new LocalSession(graph, SessionOptions.DEFAULT.withStore(store));
  }

  private List<String> changed() {
    return store.events().stream().map(Event::what).filter(w -> !w.isEmpty()).sorted().toList();
  }

  @Test
  void aLocalStepIsCommittedOnceAfterItsChanges() {
    Model m = new Model("");
    try (Session s = local(m.graph)) {
      s.run(m.start);
      assertEquals(List.of("ref", "resource"), changed());
      store.forget();
      for (int i = 1; i <= STEPS; i++) {
        m.add(s, m.addRef, m.addResource);
        assertEquals(i, store.count(Kind.COMMIT));
      }
      assertEquals(2 * STEPS, store.count(Kind.CHANGE));
      assertArrayEquals(new float[] {STEPS, STEPS}, store.value("ref"));
      assertArrayEquals(new float[] {STEPS, STEPS}, store.value("resource"));
      store.checkOrder();
    }
  }

  @Test
  void changesOfRowsNameTheRows() {
    Model m = new Model("");
    try (Session s = local(m.graph)) {
      s.run(m.start);
      store.forget();
      s.run(m.row);
      assertEquals(List.of("resource[1]"), changed());
      assertArrayEquals(new float[] {0, 1}, store.value("resource"));
      store.checkOrder();
    }
  }

  @Test
  void stepsThatChangeNothingAreCommittedToo() {
    Graph graph = StandardOps.newGraph();
    Output five = Const.of(Scope.of(graph), 5f);
    try (Session s = local(graph)) {
      assertEquals(5f, s.fetch(five).floatValue());
      assertEquals(List.of(Kind.COMMIT), store.events().stream().map(Event::kind).toList());
    }
  }

  @Test
  void queuesAccumulatorsAndTablesPassTheStore() {
    Graph graph = StandardOps.newGraph();
    Scope scope = Scope.of(graph);
    Output queue =
        QueueHandles.fifo(
            scope.withName("queue"), List.of(DType.FLOAT), List.of(Shape.scalar()), 3);
    Output value = Const.of(scope, 1f);
    Node enqueue = QueueAccess.enqueue(scope, queue, List.of(value));
    Node dequeue = QueueAccess.dequeue(scope, queue, List.of(DType.FLOAT));
    Output sum = AccumulatorOps.of(scope, DType.FLOAT, Shape.scalar(), "sum");
    Node apply = AccumulatorOps.apply(scope, sum, Const.of(scope, 0L), value);
    Output take = AccumulatorOps.take(scope, sum, Const.of(scope, 1), DType.FLOAT);
    Output table =
        scope
            .withName("table")
            .node("MutableHashTableV2")
            .attr("shared_name", "table")
            .attr("key_dtype", DType.INT64)
            .attr("value_dtype", DType.FLOAT)
            .add()
            .output();
    Node insert =
        scope
            .node("LookupTableInsertV2")
            .input(table)
            .input(Const.of(scope, Tensor.vector(7L)))
            .input(Const.of(scope, Tensor.vector(1f)))
            .add();
    try (Session s = local(graph)) {
      s.run(enqueue);
      assertEquals(1f, s.fetch(dequeue.output(0)).floatValue());
      assertEquals(List.of("queue", "queue"), changed());
      store.forget();
      s.run(apply);
      assertEquals(1f, s.fetch(take).floatValue());
      assertEquals(List.of("sum", "sum"), changed());
      store.forget();
      s.run(insert);
      assertEquals(List.of("table"), changed());
      store.checkOrder();
    }
  }

  @Test
  void aStepThatFailsAfterAChangeIsNotCommitted() {
    Model m = new Model("");
    try (Session s = local(m.graph)) {
      s.run(m.start);
      store.forget();
      assertThrows(MillraceException.class, () -> m.add(s, m.spoil));
      assertEquals(
          List.of(Kind.CHANGE, Kind.FAILURE), store.events().stream().map(Event::kind).toList());
    }
  }

  @Test
  void aCommitThatFailsFailsTheStep() {
    Model m = new Model("");
    try (Session s = local(m.graph)) {
      s.run(m.start);
      store.onCommit(
          step -> {
            throw new MillraceException(Code.RESOURCE_EXHAUSTED, "The disk is full.");
          });
      var e = assertThrows(MillraceException.class, () -> m.add(s, m.addRef));
      assertEquals(Code.RESOURCE_EXHAUSTED, e.code());
      assertTrue(e.getMessage().contains("could not be committed"), e.getMessage());
      assertTrue(e.getMessage().contains("The disk is full."), e.getMessage());
      store.onCommit(step -> {});
      m.add(s, m.addRef);
    }
  }

  // ---- on a parameter server ----

  /** A parameter server with the store, and a worker. */
  private static final class Tasks implements AutoCloseable {
    final List<Server> servers = new ArrayList<>();

    Tasks(RecordingStore store) {
      List<String> addresses = FreePorts.addresses(2);
      ClusterSpec spec =
          ClusterSpec.of(Map.of("ps", addresses.subList(0, 1), "worker", addresses.subList(1, 2)));
      servers.add(Server.start(spec, new TaskId("ps", 0), StandardOps.registry(), store));
      servers.add(Server.start(spec, new TaskId("worker", 0), StandardOps.registry()));
    }

    Session session(Graph graph) {
      ConfigProto bounded = ConfigProto.newBuilder().setOperationTimeoutInMs(60_000).build();
      return new ClusterSession(graph, servers.get(1).target(), bounded);
    }

    @Override
    public void close() {
      servers.reversed().forEach(Server::close);
    }
  }

  @Test
  void stepsOfSeveralWorkersAreEachCommittedBeforeTheyReturn() throws Exception {
    try (Tasks tasks = new Tasks(store)) {
      Model first = new Model("/job:ps/task:0");
      try (Session s = tasks.session(first.graph)) {
        s.run(first.start);
      }
      List<CompletableFuture<Void>> clients = new ArrayList<>();
      for (int c = 0; c < 3; c++) {
        clients.add(
            CompletableFuture.runAsync(
                () -> {
                  Model m = new Model("/job:ps/task:0");
                  try (Session s = tasks.session(m.graph)) {
                    for (int i = 1; i <= STEPS; i++) {
                      m.add(s, m.addRef, m.addResource);
                      // Others may have committed more; this client's own are among them.
                      assertTrue(store.count(Kind.COMMIT) > i);
                    }
                  }
                }));
      }
      for (CompletableFuture<Void> c : clients) {
        c.get(60, TimeUnit.SECONDS);
      }
      store.checkOrder();
      assertEquals(3 * STEPS + 1, store.count(Kind.COMMIT));
      assertEquals(0, store.count(Kind.FAILURE));
      assertArrayEquals(new float[] {3 * STEPS, 3 * STEPS}, store.value("ref"));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/job:ps/task:0", "/job:worker/task:0"})
  void aStepReturnsOnlyWhenTheCommitHas(String compute) throws Exception {
    try (Tasks tasks = new Tasks(store)) {
      Model m = new Model("/job:ps/task:0");
      // Also where the last node of the step is on the worker.
      Node last =
          Scope.of(m.graph).withDevice(compute).withControlInputs(m.addRef).node("NoOp").add();
      try (Session s = tasks.session(m.graph)) {
        s.run(m.start);
        CountDownLatch entered = new CountDownLatch(1);
        CountDownLatch released = new CountDownLatch(1);
        store.onCommit(
            step -> {
              entered.countDown();
              await(released);
            });
        CompletableFuture<Void> step = CompletableFuture.runAsync(() -> m.add(s, last));
        await(entered);
        assertThrows(TimeoutException.class, () -> step.get(200, TimeUnit.MILLISECONDS));
        assertFalse(step.isDone());
        released.countDown();
        step.get(30, TimeUnit.SECONDS);
        store.checkOrder();
      }
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(30, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void aCommitThatFailsOnTheServerFailsTheStepOfTheClient() {
    try (Tasks tasks = new Tasks(store)) {
      Model m = new Model("/job:ps/task:0");
      try (Session s = tasks.session(m.graph)) {
        s.run(m.start);
        store.onCommit(
            step -> {
              throw new MillraceException(Code.DATA_LOSS, "The log is gone.");
            });
        var e = assertThrows(MillraceException.class, () -> m.add(s, m.addRef));
        assertEquals(Code.DATA_LOSS, e.code(), e.getMessage());
        assertTrue(e.getMessage().contains("The log is gone."), e.getMessage());
      }
    }
  }

  /** Such state ends with its session, so there is nothing to keep. */
  @Test
  void isolatedSessionsDoNotPassTheStore() {
    try (Tasks tasks = new Tasks(store)) {
      Model m = new Model("/job:ps/task:0");
      ConfigProto isolated = ConfigProto.newBuilder().setIsolateSessionState(true).build();
      try (Session s = new ClusterSession(m.graph, tasks.servers.get(1).target(), isolated)) {
        s.run(m.start);
        m.add(s, m.addRef);
      }
      assertEquals(List.of(), store.events());
    }
  }
}
