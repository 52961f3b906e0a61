package dev.millrace.cluster.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cluster.Server;
import dev.millrace.cluster.http2.GrpcMethods;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.queue.QueueAccess;
import dev.millrace.proto.CreateSessionRequest;
import dev.millrace.proto.GetStatusRequest;
import dev.millrace.proto.RunStepRequest;
import dev.millrace.tensor.DType;
import dev.millrace.wire.GraphCodec;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.stub.ClientCalls;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Waiting steps do not each occupy a platform thread of the server. */
class WaitingStepsTest {
  private static final int STEPS = 1000;

  @Test
  void aThousandWaitingStepsShareFewThreads() {
    Graph graph = StandardOps.newGraph();
    Scope scope = Scope.of(graph);
    Output queue =
        scope.node("FIFOQueueV2").attr("component_types", List.of(DType.FLOAT)).add().output();
    Output element = QueueAccess.dequeue(scope, queue, List.of(DType.FLOAT)).output(0);
    try (Server server = Server.createLocalServer(StandardOps.registry())) {
      ManagedChannel channel =
          TaskPeers.channel(server.target().substring("grpc://".length()), Runnable::run);
      CallOptions soon = CallOptions.DEFAULT.withDeadlineAfter(60, TimeUnit.SECONDS);
      String session =
          ClientCalls.blockingUnaryCall(
                  channel,
                  GrpcMethods.CREATE_SESSION,
                  soon,
                  CreateSessionRequest.newBuilder().setGraphDef(GraphCodec.encode(graph)).build())
              .getSessionHandle();
      RunStepRequest wait =
          RunStepRequest.newBuilder().setSessionHandle(session).addFetch(element.name()).build();
      for (int i = 0; i < STEPS; i++) {
        ClientCalls.futureUnaryCall(
            channel.newCall(GrpcMethods.RUN_STEP, CallOptions.DEFAULT), wait);
      }
      await(server, STEPS);
      long most = 100 + 8L * Runtime.getRuntime().availableProcessors();
      long threads =
          Thread.getAllStackTraces().keySet().stream()
              .filter(t -> t.getName().startsWith("millrace-"))
              .count();
      assertTrue(threads < most, threads + " threads for " + STEPS + " steps that wait");
      assertEquals(
          1,
          ClientCalls.blockingUnaryCall(
                  channel, GrpcMethods.GET_STATUS, soon, GetStatusRequest.getDefaultInstance())
              .getDeviceAttributesCount());
      channel.shutdownNow();
      await(server, 0);
    }
  }

  private static void await(Server server, int steps) {
    long deadline = System.nanoTime() + 60_000_000_000L;
    while (server.worker().stepCount() != steps) {
      assertTrue(
          System.nanoTime() < deadline, () -> server.worker().stepCount() + " steps, not " + steps);
      Thread.onSpinWait();
    }
  }
}
