package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Output;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.GraphDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.GraphCodec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Nobody can tell who is who: Millrace and TensorFlow as client, master, worker and parameter
 * server, in all sixteen combinations, train the same network to the same losses.
 */
class RoleMatrixTest {
  /** Starts a task, ours in this process, TensorFlow's in one of its own. */
  private static AutoCloseable task(LoopbackCluster cluster, String job, boolean tensorFlow) {
    if (tensorFlow) {
      return TensorFlowServer.start(cluster, job, 0);
    }
    return Server.start(
        ClusterSpec.decode(cluster.definition()), new TaskId(job, 0), StandardOps.registry());
  }

  /** Trains with TensorFlow as the client. */
  private static List<Float> losses(RoleModel m, RealTensorFlow session) {
    Map<Output, Tensor> batch = m.batch();
    Map<String, Tensor> feeds =
        Map.of(m.x().name(), batch.get(m.x()), m.y().name(), batch.get(m.y()));
    List<Float> losses = new ArrayList<>();
    session.run(m.init().name());
    for (int i = 0; i < RoleModel.STEPS; i++) {
      losses.add(
          session
              .run(feeds, List.of(m.loss().name()), List.of(m.train().name()))
              .getFirst()
              .floatValue());
    }
    return losses;
  }

  @SuppressWarnings("try") // The tasks are only there to be there.
  private static List<Float> train(int roles) throws Exception {
    RoleModel m = RoleModel.build();
    try (LoopbackCluster cluster = LoopbackCluster.psAndWorkers(1, 1).with("chief", 1);
        AutoCloseable ps = task(cluster, "ps", (roles & RoleModel.PS) != 0);
        AutoCloseable worker = task(cluster, "worker", (roles & RoleModel.WORKER) != 0);
        AutoCloseable master = task(cluster, "chief", (roles & RoleModel.MASTER) != 0)) {
      String target = cluster.target("chief", 0);
      if ((roles & RoleModel.CLIENT) == 0) {
        return m.lossesAt(target);
      }
      try (RealTensorFlow session =
          RealTensorFlow.of(GraphCodec.encode(m.graph()), TensorFlowSessionOptions.at(target))) {
        return losses(m, session);
      }
    }
  }

  /** What TensorFlow alone makes of it, in one process. */
  private static List<Float> expected() {
    RoleModel m = RoleModel.build();
    GraphDef.Builder local = GraphCodec.encode(m.graph()).toBuilder();
    local.getNodeBuilderList().forEach(n -> n.clearDevice());
    try (RealTensorFlow session = RealTensorFlow.of(local.build())) {
      return losses(m, session);
    }
  }

  // README claim: tf-roles
  @ParameterizedTest(name = "client x master x worker x ps = {0} (bits set: TensorFlow)")
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
  void everyCombinationTrainsToTheSameLosses(int roles) throws Exception {
    RoleModel.assertLosses(expected(), train(roles));
  }

  @Test
  void aTensorFlowSessionPinsOpsToTwoMillraceTasks() throws Exception {
    try (LoopbackCluster cluster = LoopbackCluster.of("local", 2)) {
      // Each in a process of its own, as by `millrace server`.
      try (MillraceServer one = MillraceServer.start(cluster, "local", 0);
          MillraceServer two = MillraceServer.start(cluster, "local", 1)) {
        GraphWriter graph = new GraphWriter();
        graph.device("/job:local/task:0");
        graph.add("x", "Placeholder", Map.of("dtype", DType.FLOAT));
        graph.add("a", "Square", Map.of(), "x");
        graph.device("/job:local/task:1");
        graph.add("b", "Neg", Map.of(), "a");
        for (MillraceServer master : List.of(one, two)) {
          try (RealTensorFlow session =
              RealTensorFlow.of(graph.build(), TensorFlowSessionOptions.at(master.target()))) {
            Tensor r =
                session
                    .run(Map.of("x:0", Tensor.vector(2f, 3f)), List.of("b:0"), List.of())
                    .getFirst();
            assertEquals(-4, r.doubleAt(0));
            assertEquals(-9, r.doubleAt(1));
          }
        }
      }
    }
  }
}
