package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.GraphDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TensorFlowServerTest {
  @Test
  void variablesOnThePsAreSharedByTheSessionsOfAllWorkers() {
    try (LoopbackCluster cluster = LoopbackCluster.psAndWorkers(1, 1);
        TensorFlowServer ps = TensorFlowServer.start(cluster, "ps", 0);
        TensorFlowServer worker = TensorFlowServer.start(cluster, "worker", 0)) {
      assertEquals(cluster.target("ps", 0), ps.target());
      try (RealTensorFlow first = at(worker)) {
        first.run("init");
        assertEquals(1f, first.run(Map.of(), List.of("count"), List.of()).getFirst().floatValue());
      }
      try (RealTensorFlow second = at(ps)) {
        assertEquals(2f, second.run(Map.of(), List.of("count"), List.of()).getFirst().floatValue());
        worker.kill();
        assertThrows(
            MillraceException.class, () -> second.run(Map.of(), List.of("here"), List.of()));
      }
    }
  }

  @Test
  void aServerThatCannotListenSaysWhy() {
    try (LoopbackCluster cluster = LoopbackCluster.of("worker", 1);
        TensorFlowServer first = TensorFlowServer.start(cluster, "worker", 0)) {
      MillraceException e =
          assertThrows(
              MillraceException.class, () -> TensorFlowServer.start(cluster, "worker", 0).close());
      assertEquals(Code.UNAVAILABLE, e.code());
      assertTrue(e.getMessage().contains("Could not start gRPC server"), e.getMessage());
      first.kill();
      assertFalse(ProcessHandle.of(first.pid()).map(ProcessHandle::isAlive).orElse(false));
    }
  }

  @Test
  void portsAreLeasedOnce() {
    try (LoopbackCluster a = LoopbackCluster.psAndWorkers(2, 3);
        LoopbackCluster b = LoopbackCluster.psAndWorkers(2, 3)) {
      assertNotEquals(a.definition(), b.definition());
      assertEquals(3, a.definition().getJob(1).getTasksCount());
    }
  }

  private static RealTensorFlow at(TensorFlowServer server) {
    return RealTensorFlow.of(counter(), TensorFlowSessionOptions.at(server.target()));
  }

  /** A counter on the ps that is counted up by a value on the worker. */
  private static GraphDef counter() {
    GraphWriter graph = new GraphWriter();
    graph.device("/job:ps/task:0");
    graph.add("v", "VariableV2", Map.of("dtype", DType.FLOAT, "shape", Shape.scalar()));
    graph.constant("zero", Tensor.scalar(0f));
    graph.add("init", "Assign", Map.of(), "v", "zero");
    graph.device("/job:worker/task:0");
    graph.constant("one", Tensor.scalar(1f));
    graph.add("here", "Square", Map.of(), "one");
    graph.device("/job:ps/task:0");
    graph.add("count", "AssignAdd", Map.of(), "v", "here");
    return graph.build();
  }
}
