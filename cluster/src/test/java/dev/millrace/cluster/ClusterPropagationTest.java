package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A session brings the cluster; the servers were started knowing themselves alone. */
class ClusterPropagationTest {
  private final Server one = Server.createLocalServer(StandardOps.registry());
  private final Server two = Server.createLocalServer(StandardOps.registry());

  @AfterEach
  void stop() {
    one.close();
    two.close();
  }

  private static String address(Server s, String host) {
    return s.target().replace("grpc://", "").replace("localhost", host);
  }

  private ConfigProto config(String host) {
    ClusterSpec spec =
        ClusterSpec.of(
            Map.of("ps", List.of(address(two, host)), "worker", List.of(address(one, host))));
    return ConfigProto.newBuilder().setClusterDef(spec.encode()).build();
  }

  @Test
  void tasksHaveTheNamesThatTheSessionGivesThem() {
    Graph g = StandardOps.newGraph();
    Scope s = Scope.of(g);
    Output x = Placeholder.of(s, DType.FLOAT, Shape.of(-1));
    Scope ps = s.withDevice("/job:ps/task:0");
    Output v = VariableV2.of(ps.withName("v"), DType.FLOAT, Shape.of(2));
    Node init = Assign.of(ps, v, Const.of(ps, Tensor.vector(1f, 2f)));
    Output y = s.withDevice("/job:worker/task:0").node("Mul").input(v).input(x).add().output();
    // In this process, and as from another: by the network.
    for (String host : List.of("localhost", "127.0.0.1")) {
      try (Session session = new ClusterSession(g, "grpc://" + address(one, host), config(host))) {
        session.run(init);
        for (int i = 0; i < 3; i++) {
          Tensor r = session.fetch(y, Map.of(x, Tensor.vector(i, 3f)));
          assertArrayEquals(new float[] {i, 6}, r.toFloats());
        }
      }
    }
    long deadline = System.nanoTime() + 30_000_000_000L;
    while (one.worker().sessionCount() + two.worker().sessionCount() > 0
        && System.nanoTime() < deadline) {
      Thread.onSpinWait();
    }
    assertEquals(0, one.worker().sessionCount() + two.worker().sessionCount());
  }

  @Test
  void sessionsThatBringTheirClusterDoNotShareStateUnlessTheyAskTo() {
    Graph g = StandardOps.newGraph();
    Scope ps = Scope.of(g).withDevice("/job:ps/task:0");
    Output v = VariableV2.of(ps.withName("v"), DType.FLOAT, Shape.of(2));
    Node init = Assign.of(ps, v, Const.of(ps, Tensor.vector(1f, 2f)));
    ConfigProto config = config("localhost");
    try (Session first = new ClusterSession(g, one.target(), config);
        Session second = new ClusterSession(g, one.target(), config)) {
      first.run(init);
      assertArrayEquals(new float[] {1, 2}, first.fetch(v).toFloats());
      MillraceException e = assertThrows(MillraceException.class, () -> second.fetch(v));
      assertEquals(Code.FAILED_PRECONDITION, e.code(), e::getMessage);
    }
    ConfigProto.Builder sharing = config.toBuilder();
    sharing.getExperimentalBuilder().setShareSessionStateInClusterspecPropagation(true);
    try (Session first = new ClusterSession(g, one.target(), sharing.build());
        Session second = new ClusterSession(g, one.target(), sharing.build())) {
      first.run(init);
      assertArrayEquals(new float[] {1, 2}, second.fetch(v).toFloats());
    }
  }

  @Test
  void theMasterMustBeOneOfTheTasks() {
    Graph g = StandardOps.newGraph();
    Output a = Const.of(Scope.of(g), 2f);
    ClusterSpec without = ClusterSpec.of(Map.of("worker", List.of(address(two, "localhost"))));
    ConfigProto config = ConfigProto.newBuilder().setClusterDef(without.encode()).build();
    try (Session session = new ClusterSession(g, one.target(), config)) {
      MillraceException e = assertThrows(MillraceException.class, () -> session.fetch(a));
      assertTrue(e.getMessage().contains("no task of its cluster_def"), e::getMessage);
    }
  }
}
