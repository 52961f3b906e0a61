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
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class ClusterSessionTest {
  private final List<Server> servers = new ArrayList<>();
  private Server ps;
  private Server worker;
  private ClusterSpec cluster;

  @BeforeEach
  void startCluster() {
    List<String> a = FreePorts.addresses(2);
    cluster = ClusterSpec.of(Map.of("ps", List.of(a.get(0)), "worker", List.of(a.get(1))));
    ps = start("ps");
    worker = start("worker");
  }

  private Server start(String job) {
    Server s = Server.start(cluster, new TaskId(job, 0), StandardOps.registry());
    servers.add(s);
    return s;
  }

  @AfterEach
  void stopCluster() {
    servers.forEach(Server::close);
  }

  /** A session as a client in another process has it: over the network. */
  private static Session remote(Graph g, String target) {
    return new ClusterSession(g, target.replace("localhost", "127.0.0.1"));
  }

  private static Output onBoth(Graph g, Output[] x) {
    Scope s = Scope.of(g);
    x[0] = Placeholder.of(s, DType.FLOAT, Shape.of(-1));
    Output a = s.withDevice("/job:ps/task:0").node("Neg").input(x[0]).add().output();
    return s.withDevice("/job:worker/task:0").node("Square").input(a).add().output();
  }

  @Test
  void aStepSpansTasks() {
    for (boolean overNetwork : new boolean[] {false, true}) {
      Graph g = StandardOps.newGraph();
      Output[] x = new Output[1];
      Output y = onBoth(g, x);
      for (Server master : servers) {
        try (Session s =
            overNetwork ? remote(g, master.target()) : new ClusterSession(g, master.target())) {
          for (int i = 0; i < 20; i++) {
            Tensor r = s.fetch(y, Map.of(x[0], Tensor.vector(i, 2f)));
            assertArrayEquals(new float[] {(float) i * i, 4}, r.toFloats());
          }
        }
      }
    }
    // Workers are told to forget a step after it has ended; nobody waits for that.
    long deadline = System.nanoTime() + 60_000_000_000L;
    while (ps.worker().stepCount() + worker.worker().stepCount() > 0
        && System.nanoTime() < deadline) {
      Thread.onSpinWait();
    }
    assertEquals(0, ps.worker().stepCount());
    assertEquals(0, worker.worker().stepCount());
  }

  /** In the words of a session in one process, and before anything is sent. */
  @Test
  void whatCannotBeFedOrIsOfAnotherGraphIsRefused() {
    Graph g = StandardOps.newGraph();
    Scope s = Scope.of(g);
    Output x = Placeholder.of(s.withName("x"), DType.FLOAT, Shape.of(2));
    Output y = Identity.of(s, x);
    Output stranger = Const.of(Scope.of(StandardOps.newGraph()).withName("stranger"), 1f);
    Tensor closed = Tensor.vector(1f, 2f);
    closed.close();
    // The pool may have given its memory out again.
    Tensor next = Tensor.vector(3f, 4f);
    for (Session session :
        List.of(
            new LocalSession(g),
            new ClusterSession(g, worker.target()),
            remote(g, worker.target()))) {
      try (session) {
        Map<String, Executable> wrong =
            Map.of(
                "Cannot feed value of shape [3] for tensor 'x:0', which has shape [2].",
                () -> session.fetch(y, Map.of(x, Tensor.vector(1f, 2f, 3f))),
                "Cannot feed 'x:0': The tensor float[2] was used after it was closed.",
                () -> session.fetch(y, Map.of(x, closed)),
                "Cannot feed a int32 tensor for 'x:0', which is float.",
                () -> session.fetch(y, Map.of(x, Tensor.vector(1, 2))),
                "'stranger' belongs to another graph than the one this session runs.",
                () -> session.fetch(stranger),
                "The callable takes 1 values ([x:0]); 0 were given.",
                () -> session.makeCallable(List.of(x), List.of(y), List.of()).run());
        wrong.forEach(
            (words, run) -> {
              MillraceException e = assertThrows(MillraceException.class, run, words);
              assertEquals(Code.INVALID_ARGUMENT, e.code(), e::getMessage);
              assertTrue(e.getMessage().startsWith(words), e::getMessage);
            });
        assertArrayEquals(new float[] {3, 4}, session.fetch(y, Map.of(x, next)).toFloats());
      }
    }
  }

  @Test
  void variablesBelongToTheTaskNotToTheSession() {
    Graph g = StandardOps.newGraph();
    Scope s = Scope.of(g).withDevice("/job:ps/task:0");
    Output v = VariableV2.of(s.withName("v"), DType.FLOAT, Shape.of(2));
    Node init = Assign.of(s, v, Const.of(s, Tensor.vector(1f, 2f)));
    Output read = Identity.of(s, v);
    try (Session one = new ClusterSession(g, worker.target())) {
      one.run(init);
    }
    try (Session two = remote(g, ps.target())) {
      assertArrayEquals(new float[] {1, 2}, two.fetch(read).toFloats());
    }
  }

  @Test
  void theGraphMayGrow() {
    Graph g = StandardOps.newGraph();
    Scope s = Scope.of(g);
    Output a = Const.of(s, 2f);
    for (String target :
        List.of(worker.target(), worker.target().replace("localhost", "127.0.0.1"))) {
      try (Session session = new ClusterSession(g, target)) {
        assertEquals(2f, session.fetch(a).floatValue());
        Output b = s.node("Square").input(a).add().output();
        assertEquals(4f, session.fetch(b).floatValue());
      }
    }
  }

  @Test
  void anErrorNamesTaskAndNode() {
    Graph g = StandardOps.newGraph();
    Scope s = Scope.of(g).withDevice("/job:ps/task:0");
    Output v = VariableV2.of(s.withName("w"), DType.FLOAT, Shape.of(2));
    Output read = Identity.of(s.withName("w/read"), v);
    try (Session session = remote(g, worker.target())) {
      MillraceException e = assertThrows(MillraceException.class, () -> session.fetch(read));
      assertEquals(Code.FAILED_PRECONDITION, e.code());
      assertTrue(e.getMessage().contains("Attempting to use uninitialized value w"), e::getMessage);
      assertTrue(e.getMessage().contains("/job:ps/replica:0/task:0"), e::getMessage);
      assertTrue(e.getMessage().contains("[[{{node w/read}}]]"), e::getMessage);
    }
  }

  @Test
  void aMissingTaskIsNamedAtTheDeadline() {
    ps.close();
    Graph g = StandardOps.newGraph();
    Output a = Const.of(Scope.of(g), 2f);
    ConfigProto config = ConfigProto.newBuilder().setOperationTimeoutInMs(1500).build();
    try (Session session = new ClusterSession(g, worker.target(), config)) {
      MillraceException e = assertThrows(MillraceException.class, () -> session.fetch(a));
      assertEquals(Code.DEADLINE_EXCEEDED, e.code());
      assertTrue(e.getMessage().contains("/job:ps/replica:0/task:0"), e::getMessage);
      assertTrue(e.getMessage().contains(cluster.address(new TaskId("ps", 0))), e::getMessage);
      assertTrue(e.getMessage().contains("refused"), e::getMessage);
    }
  }

  @Test
  void aRestartedTaskIsNoticedAndANewSessionWorks() {
    Graph g = StandardOps.newGraph();
    Output[] x = new Output[1];
    Output y = onBoth(g, x);
    try (Session session = new ClusterSession(g, worker.target())) {
      session.fetch(y, Map.of(x[0], Tensor.vector(1f)));
      ps.close();
      MillraceException lost =
          assertThrows(
              MillraceException.class, () -> session.fetch(y, Map.of(x[0], Tensor.vector(1f))));
      assertEquals(Code.UNAVAILABLE, lost.code(), lost::getMessage);
      start("ps");
      MillraceException restarted = null;
      long deadline = System.nanoTime() + 20_000_000_000L;
      while ((restarted == null || restarted.code() == Code.UNAVAILABLE)
          && System.nanoTime() < deadline) {
        restarted =
            assertThrows(
                MillraceException.class, () -> session.fetch(y, Map.of(x[0], Tensor.vector(1f))));
      }
      assertEquals(Code.ABORTED, restarted.code(), restarted::getMessage);
    }
    try (Session session = new ClusterSession(g, worker.target())) {
      assertEquals(9f, session.fetch(y, Map.of(x[0], Tensor.vector(3f))).floatValue());
    }
  }

  @Test
  void aPortInUseIsSaidPlainly() {
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () -> Server.start(cluster, new TaskId("ps", 0), StandardOps.registry()));
    assertTrue(e.getMessage().contains("already in use"), e::getMessage);
    assertTrue(e.getMessage().startsWith("ps/0 cannot listen on"), e::getMessage);
  }

  @Test
  void deviceFiltersLeaveTasksOut() {
    ps.close();
    Graph g = StandardOps.newGraph();
    Output a = Const.of(Scope.of(g), 2f);
    ConfigProto config = ConfigProto.newBuilder().addDeviceFilters("/job:worker/task:0").build();
    try (Session session = new ClusterSession(g, worker.target(), config)) {
      assertEquals(2f, session.fetch(a).floatValue());
    }
  }
}
