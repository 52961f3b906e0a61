package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.queue.QueueAccess;
import dev.millrace.proto.ConfigProto;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.wire.GraphCodec;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A TensorFlow worker that is killed while it waits on a Millrace parameter server. */
class KilledWorkerTest {
  @Test
  void takesNothingOutOfTheQueueItWaitedFor() throws Exception {
    Graph graph = StandardOps.newGraph();
    Scope ps = Scope.of(graph).withDevice("/job:ps/task:0");
    Output queue =
        ps.node("FIFOQueueV2")
            .attr("component_types", List.of(DType.FLOAT))
            .attr("shapes", List.of(Shape.scalar()))
            .attr("shared_name", "queue")
            .add()
            .output();
    Output element = QueueAccess.dequeue(ps, queue, List.of(DType.FLOAT)).output(0);
    Node put = QueueAccess.enqueue(ps, queue, List.of(Const.of(ps, 7f)));
    try (LoopbackCluster cluster = LoopbackCluster.psAndWorkers(1, 1);
        Server server =
            Server.start(
                ClusterSpec.decode(cluster.definition()),
                new TaskId("ps", 0),
                StandardOps.registry());
        TensorFlowServer worker = TensorFlowServer.start(cluster, "worker", 0)) {
      RealTensorFlow client =
          RealTensorFlow.of(GraphCodec.encode(graph), TensorFlowSessionOptions.at(worker.target()));
      // TensorFlow's client may notice late or never that its master is gone.
      Thread.ofPlatform()
          .daemon()
          .start(() -> client.run(Map.of(), List.of(element.name()), List.of()));
      awaitSteps(server, 1);
      worker.kill();
      awaitSteps(server, 0);
      ConfigProto alone = ConfigProto.newBuilder().addDeviceFilters("/job:ps").build();
      try (ClusterSession other = new ClusterSession(graph, server.target(), alone)) {
        other.run(put);
        assertEquals(7f, other.fetch(element).floatValue());
      }
    }
  }

  private static void awaitSteps(Server server, int count) {
    long deadline = System.nanoTime() + 60_000_000_000L;
    while (server.worker().stepCount() != count) {
      assertTrue(System.nanoTime() < deadline, () -> server.worker().stepCount() + " steps");
      Thread.onSpinWait();
    }
  }
}
