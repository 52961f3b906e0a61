package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.collective.CollectiveReduce;
import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Three workers, the second with two devices, do TensorFlow's collective ops together. */
class CollectiveOpsTest {
  private static final List<String> DEVICES =
      List.of(
          "/job:worker/replica:0/task:0/device:CPU:0",
          "/job:worker/replica:0/task:1/device:CPU:0",
          "/job:worker/replica:0/task:1/device:CPU:1",
          "/job:worker/replica:0/task:2/device:CPU:0");

  private final List<Server> servers = new ArrayList<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private ClusterSpec cluster;

  @BeforeEach
  void startCluster() {
    cluster = ClusterSpec.of(Map.of("worker", FreePorts.addresses(3)));
    for (int i = 0; i < 3; i++) {
      servers.add(start(i));
    }
  }

  private Server start(int task) {
    return Server.start(
        cluster, new TaskId("worker", task), StandardOps.registry(), task == 1 ? 2 : 1);
  }

  @AfterEach
  void stopCluster() {
    servers.forEach(Server::close);
    threads.shutdownNow();
  }

  private Session session(Graph g, int task) {
    return new ClusterSession(g, servers.get(task).target());
  }

  private static Scope on(Graph g, String device) {
    return Scope.of(g).withDevice(device);
  }

  @Test
  void aReductionIsTheSumOfAllDevicesForAnySizeAndType() {
    int instance = 0;
    for (DType type :
        List.of(DType.FLOAT, DType.DOUBLE, DType.INT32, DType.INT64, DType.HALF, DType.BFLOAT16)) {
      Graph g = StandardOps.newGraph();
      List<Output> xs = new ArrayList<>();
      for (String device : DEVICES) {
        Scope s = on(g, device);
        xs.add(Placeholder.of(s, type, Shape.of(-1)));
      }
      try (Session session = session(g, type.number() % 3)) {
        for (int size : new int[] {0, 1, 2, 3, 15, 16, 17, 64, 1000}) {
          // An instance has one shape and type for good.
          int key = instance++;
          List<Output> reduced = new ArrayList<>();
          for (int d = 0; d < DEVICES.size(); d++) {
            reduced.add(CollectiveReduce.sum(on(g, DEVICES.get(d)), xs.get(d), 4, 17, key));
          }
          Map<Output, Tensor> feeds = new java.util.HashMap<>();
          double[] expected = new double[size];
          for (int d = 0; d < DEVICES.size(); d++) {
            Tensor t = Tensor.allocate(type, Shape.of(size));
            for (int i = 0; i < size; i++) {
              t.setDouble(i, (i + 3 * d) % 11 - 5);
              expected[i] += (i + 3 * d) % 11 - 5;
            }
            feeds.put(xs.get(d), t);
          }
          for (Tensor r : session.run(feeds, reduced, List.of())) {
            for (int i = 0; i < size; i++) {
              assertEquals(expected[i], r.doubleAt(i), type + " of " + size + " at " + i);
            }
            r.close();
          }
        }
      }
    }
  }

  @Test
  void everyMergeAndSeveralRingsAgreeOnTheResult() {
    record Case(String merge, String last, double expected) {}
    for (Case c :
        List.of(
            new Case("Add", "Div", 2.5),
            new Case("Mul", "Id", 24),
            new Case("Min", "Id", 1),
            new Case("Max", "Div", 1))) {
      for (List<Integer> rings : List.of(List.of(0), List.of(0, 1, -1), List.<Integer>of())) {
        Graph g = StandardOps.newGraph();
        List<Output> reduced = new ArrayList<>();
        for (int d = 0; d < DEVICES.size(); d++) {
          Scope s = on(g, DEVICES.get(d));
          Tensor own = Tensor.allocate(DType.FLOAT, Shape.of(50, 3));
          for (int i = 0; i < own.elements(); i++) {
            own.setDouble(i, d + 1);
          }
          reduced.add(
              s.node("CollectiveReduce")
                  .input(Const.of(s, own))
                  .attr("group_size", 4)
                  .attr("group_key", 5)
                  .attr("instance_key", 1)
                  .attr("merge_op", c.merge)
                  .attr("final_op", c.last)
                  .attr("subdiv_offsets", rings)
                  .add()
                  .output());
        }
        try (Session session = session(g, 2)) {
          for (int step = 0; step < 3; step++) {
            for (Tensor r : session.run(Map.of(), reduced, List.of())) {
              assertEquals(Shape.of(50, 3), r.shape());
              for (int i = 0; i < r.elements(); i++) {
                assertEquals(c.expected, r.doubleAt(i), c + " " + rings);
              }
              r.close();
            }
          }
        }
      }
    }
  }

  @Test
  void aGatherHasAllPartsInTheOrderOfTheDevices() {
    Graph g = StandardOps.newGraph();
    List<Output> gathered = new ArrayList<>();
    for (int d = DEVICES.size() - 1; d >= 0; d--) {
      Scope s = on(g, DEVICES.get(d));
      gathered.add(
          s.node("CollectiveGatherV2")
              .input(Const.of(s, Tensor.of(Shape.of(1, 2), d, d + .5f)))
              .input(Const.of(s, 4))
              .input(Const.of(s, 7))
              .input(Const.of(s, 1))
              .inputs(List.of())
              .add()
              .output());
    }
    try (Session session = session(g, 0)) {
      for (Tensor r : session.run(Map.of(), gathered, List.of())) {
        assertEquals(Shape.of(4, 2), r.shape());
        assertArrayEquals(new float[] {0, .5f, 1, 1.5f, 2, 2.5f, 3, 3.5f}, r.toFloats());
        r.close();
      }
    }
  }

  @Test
  void inAnExchangeOfAllEveryDeviceGetsItsRowOfEach() {
    Graph g = StandardOps.newGraph();
    List<Output> exchanged = new ArrayList<>();
    for (int d = 0; d < DEVICES.size(); d++) {
      Scope s = on(g, DEVICES.get(d));
      float[] rows = new float[8];
      for (int i = 0; i < rows.length; i++) {
        rows[i] = 10 * d + i / 2 + (i % 2) * .5f;
      }
      exchanged.add(
          byInputs(s, s.node("CollectiveAllToAllV2"), Tensor.of(Shape.of(4, 2), rows), 71)
              .add()
              .output());
    }
    try (Session session = session(g, 1)) {
      for (int step = 0; step < 2; step++) {
        List<Tensor> got = session.run(Map.of(), exchanged, List.of());
        for (int d = 0; d < got.size(); d++) {
          float[] rows = new float[8];
          for (int from = 0; from < 4; from++) {
            rows[2 * from] = 10 * from + d;
            rows[2 * from + 1] = 10 * from + d + .5f;
          }
          assertArrayEquals(rows, got.get(d).toFloats(), "device " + d);
          got.get(d).close();
        }
      }
    }
  }

  @Test
  void aScatteredReductionGivesEachDeviceItsPartOfTheSum() {
    Graph g = StandardOps.newGraph();
    List<Output> parts = new ArrayList<>();
    for (int d = 0; d < DEVICES.size(); d++) {
      Scope s = on(g, DEVICES.get(d));
      float[] own = new float[8];
      for (int i = 0; i < own.length; i++) {
        own[i] = (d + 1) * (i + 1);
      }
      parts.add(
          byInputs(s, s.node("CollectiveReduceScatterV2"), Tensor.vector(own), 72)
              .attr("merge_op", "Add")
              .attr("final_op", "Id")
              .add()
              .output());
    }
    try (Session session = session(g, 0)) {
      List<Tensor> got = session.run(Map.of(), parts, List.of());
      for (int d = 0; d < got.size(); d++) {
        assertArrayEquals(new float[] {10 * (2 * d + 1), 10 * (2 * d + 2)}, got.get(d).toFloats());
        got.get(d).close();
      }
    }
  }

  private static NodeBuilder byInputs(Scope s, NodeBuilder b, Tensor own, int groupKey) {
    return b.input(Const.of(s, own))
        .input(Const.of(s, 4))
        .input(Const.of(s, groupKey))
        .input(Const.of(s, 1))
        .inputs(List.of());
  }

  @Test
  void aCommunicatorServesReductionsOfManySteps() {
    Graph g = StandardOps.newGraph();
    List<Output> sums = new ArrayList<>();
    List<Output> handles = new ArrayList<>();
    List<Output> groups = new ArrayList<>();
    for (int d = 0; d < DEVICES.size(); d++) {
      Scope s = on(g, DEVICES.get(d));
      groups.add(
          s.node("CollectiveInitializeCommunicator")
              .input(Const.of(s, 73))
              .input(Const.of(s, d))
              .input(Const.of(s, 4))
              .add()
              .output());
      handles.add(Placeholder.of(s, DType.RESOURCE, Shape.scalar()));
      sums.add(
          s.node("CollectiveReduceV3")
              .input(Const.of(s, Tensor.vector(d + 1f, 2f)))
              .input(handles.get(d))
              .input(Const.of(s, Tensor.of(Shape.of(0, 0), new int[0])))
              .attr("reduction", "Add")
              .add()
              .output());
    }
    try (Session session = session(g, 2)) {
      Map<Output, Tensor> feeds = new java.util.HashMap<>();
      List<Tensor> made = session.run(Map.of(), groups, List.of());
      for (int d = 0; d < DEVICES.size(); d++) {
        feeds.put(handles.get(d), made.get(d));
      }
      for (int step = 0; step < 3; step++) {
        for (Tensor r : session.run(feeds, sums, List.of())) {
          assertArrayEquals(new float[] {10, 8}, r.toFloats());
          r.close();
        }
      }
    }
    // Every step counts on: nobody, the leader neither, keeps what is done only once.
    for (Server s : servers) {
      assertEquals(0, s.worker().collectives().instanceCount(), s.task()::toString);
    }
  }

  @Test
  void aBroadcastReachesAllFromAnySource() {
    for (int source = 0; source < DEVICES.size(); source++) {
      Graph g = StandardOps.newGraph();
      List<Output> values = new ArrayList<>();
      for (int d = 0; d < DEVICES.size(); d++) {
        Scope s = on(g, DEVICES.get(d));
        values.add(
            (d == source
                    ? s.node("CollectiveBcastSend").input(Const.of(s, Tensor.vector(1f, 2f, 9f)))
                    : s.node("CollectiveBcastRecv").attr("T", DType.FLOAT))
                .attr("group_size", 4)
                .attr("group_key", 3)
                .attr("instance_key", 20 + source)
                .attr("shape", Shape.of(3))
                .add()
                .output());
      }
      try (Session session = session(g, 1)) {
        for (Tensor r : session.run(Map.of(), values, List.of())) {
          assertArrayEquals(new float[] {1, 2, 9}, r.toFloats());
          r.close();
        }
      }
    }
  }

  /** One worker's step of a graph of its own, through a session of its own. */
  private Callable<float[]> alone(Session session, Output y) {
    return () -> {
      try (Tensor r = session.fetch(y)) {
        return r.toFloats();
      }
    };
  }

  private static Output sumOf(Graph g, int task, float timeout, float... own) {
    Scope s = on(g, "/job:worker/task:" + task + "/device:CPU:0");
    return s.node("CollectiveReduce")
        .input(Const.of(s, Tensor.vector(own)))
        .attr("group_size", 3)
        .attr("group_key", 8)
        .attr("instance_key", 2)
        .attr("merge_op", "Add")
        .attr("final_op", "Id")
        .attr("subdiv_offsets", List.of(0))
        .attr("timeout_seconds", timeout)
        .add()
        .output();
  }

  private static ConfigProto only(int task) {
    return ConfigProto.newBuilder().addDeviceFilters("/job:worker/task:" + task).build();
  }

  private List<Future<float[]>> stepOfEach(float timeout, float[][] own) {
    List<Future<float[]>> steps = new ArrayList<>();
    for (int t = 0; t < own.length; t++) {
      Graph g = StandardOps.newGraph();
      Output y = sumOf(g, t, timeout, own[t]);
      Session session = new ClusterSession(g, servers.get(t).target(), only(t));
      Callable<float[]> step = alone(session, y);
      steps.add(
          threads.submit(
              () -> {
                try (session) {
                  return step.call();
                }
              }));
    }
    return steps;
  }

  @Test
  void workersWithSessionsOfTheirOwnReduceTogether() throws Exception {
    for (int round = 0; round < 3; round++) {
      for (Future<float[]> f :
          stepOfEach(0, new float[][] {{1, 2}, {10, 20}, {100, 200 + round}})) {
        assertArrayEquals(new float[] {111, 222 + round}, f.get(60, TimeUnit.SECONDS));
      }
    }
  }

  @Test
  void differentShapesAreNamed() {
    List<Future<float[]>> steps = stepOfEach(60, new float[][] {{1, 2}, {10, 20}, {100}});
    List<String> messages = new ArrayList<>();
    for (Future<float[]> f : steps) {
      ExecutionException e =
          assertThrows(ExecutionException.class, () -> f.get(90, TimeUnit.SECONDS));
      messages.add(e.getCause().getMessage());
    }
    assertTrue(
        messages.stream().anyMatch(m -> m.contains("[1]") && m.contains("[2]")),
        messages.toString());
  }

  @Test
  void aGroupThatStaysIncompleteFailsInTimeAndASecondAttemptSucceeds() throws Exception {
    for (Future<float[]> f : stepOfEach(1, new float[][] {{1, 2}, {10, 20}})) {
      ExecutionException e =
          assertThrows(ExecutionException.class, () -> f.get(60, TimeUnit.SECONDS));
      MillraceException m = (MillraceException) e.getCause();
      assertEquals(Code.DEADLINE_EXCEEDED, m.code(), m.getMessage());
      assertTrue(m.getMessage().contains("group 8"), m.getMessage());
    }
    for (Future<float[]> f : stepOfEach(60, new float[][] {{1, 2}, {10, 20}, {100, 200}})) {
      assertArrayEquals(new float[] {111, 222}, f.get(90, TimeUnit.SECONDS));
    }
  }

  @Test
  void aRestartedWorkerIsTakenInAgain() throws Exception {
    for (Future<float[]> f : stepOfEach(60, new float[][] {{1}, {10}, {100}})) {
      assertArrayEquals(new float[] {111}, f.get(90, TimeUnit.SECONDS));
    }
    servers.get(2).close();
    servers.set(2, start(2));
    // The others may find out by a failed step; one of those after that must do.
    List<Throwable> failures = List.of();
    for (int attempt = 0; attempt < 10; attempt++) {
      failures = new ArrayList<>();
      // All steps must have ended before the next begin.
      for (Future<float[]> f : stepOfEach(4, new float[][] {{1}, {10}, {100}})) {
        try {
          assertArrayEquals(new float[] {111}, f.get(90, TimeUnit.SECONDS));
        } catch (ExecutionException e) {
          failures.add(e.getCause());
        }
      }
      if (failures.isEmpty()) {
        return;
      }
    }
    assertEquals(List.of(), failures);
  }
}
