package dev.millrace.cluster.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.RecordingStore;
import dev.millrace.cluster.RecordingStore.Event;
import dev.millrace.cluster.RecordingStore.Kind;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.http2.GrpcMethods;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.proto.CreateWorkerSessionRequest;
import dev.millrace.proto.RegisterGraphRequest;
import dev.millrace.proto.RunGraphRequest;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.wire.GraphCodec;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A RunGraph call over gRPC, as TensorFlow's masters make it, is answered after the commit. */
class CommittedCallsTest {
  private static final String SESSION = "of the test";

  private final RecordingStore store = new RecordingStore();
  private final Server server =
      Server.start(
          ClusterSpec.of(Map.of("ps", List.of("localhost:0"))),
          new TaskId("ps", 0),
          StandardOps.registry(),
          store);
  private final ManagedChannel channel =
      TaskPeers.channel(server.target().substring("grpc://".length()), Runnable::run);
  private String graph;

  @BeforeEach
  void register() {
    Graph g = StandardOps.newGraph();
    Scope s = Scope.of(g).withDevice(server.worker().devices().getFirst().name());
    Output v = VariableV2.of(s.withName("v"), DType.FLOAT, Shape.scalar());
    Assign.of(s, v, Const.of(s, 3f));
    call(
        GrpcMethods.CREATE_WORKER_SESSION,
        CreateWorkerSessionRequest.newBuilder().setSessionHandle(SESSION).build());
    graph =
        call(
                GrpcMethods.REGISTER_GRAPH,
                RegisterGraphRequest.newBuilder()
                    .setSessionHandle(SESSION)
                    .setCreateWorkerSessionCalled(true)
                    .setGraphDef(GraphCodec.encode(g))
                    .build())
            .getGraphHandle();
  }

  @AfterEach
  void stop() {
    channel.shutdownNow();
    server.close();
  }

  private <Q, R> R call(MethodDescriptor<Q, R> method, Q request) {
    CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(20, TimeUnit.SECONDS);
    return ClientCalls.blockingUnaryCall(channel, method, options, request);
  }

  private RunGraphRequest run(long stepId) {
    return RunGraphRequest.newBuilder()
        .setSessionHandle(SESSION)
        .setCreateWorkerSessionCalled(true)
        .setGraphHandle(graph)
        .setStepId(stepId)
        .setRequestId(stepId)
        .build();
  }

  @Test
  void theAnswerFollowsTheCommitOfThatStep() {
    for (long step = 5; step < 25; step++) {
      call(GrpcMethods.RUN_GRAPH, run(step));
      assertEquals(new Event(Kind.COMMIT, step, ""), store.events().getLast());
    }
    assertEquals(40, store.events().size(), () -> store.events().toString());
  }

  @Test
  void aCommitThatFailsIsTheAnswer() {
    store.onCommit(
        step -> {
          throw new MillraceException(Code.DATA_LOSS, "The log is gone.");
        });
    Status status =
        assertThrows(StatusRuntimeException.class, () -> call(GrpcMethods.RUN_GRAPH, run(5)))
            .getStatus();
    assertEquals(Status.Code.DATA_LOSS, status.getCode());
    assertTrue(status.getDescription().contains("The log is gone."), status.getDescription());
  }
}
