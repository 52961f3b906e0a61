package dev.millrace.cluster.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.util.concurrent.ListenableFuture;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.http2.GrpcMethods;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Rendezvous;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.proto.CleanupGraphRequest;
import dev.millrace.proto.CloseSessionRequest;
import dev.millrace.proto.CreateSessionRequest;
import dev.millrace.proto.CreateWorkerSessionRequest;
import dev.millrace.proto.DeleteWorkerSessionRequest;
import dev.millrace.proto.DeregisterGraphRequest;
import dev.millrace.proto.MakeCallableRequest;
import dev.millrace.proto.PartialRunSetupRequest;
import dev.millrace.proto.RecvTensorRequest;
import dev.millrace.proto.RecvTensorResponse;
import dev.millrace.proto.RegisterGraphRequest;
import dev.millrace.proto.ReleaseCallableRequest;
import dev.millrace.proto.RunCallableRequest;
import dev.millrace.proto.RunGraphRequest;
import dev.millrace.proto.RunGraphResponse;
import dev.millrace.proto.RunStepRequest;
import dev.millrace.runtime.device.Device;
import dev.millrace.wire.GraphCodec;
import dev.millrace.wire.TensorCodec;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Calls that come twice, too early or too late get a clear answer and leave nothing. */
class OutOfOrderCallsTest {
  private static final String SESSION = "of the test";

  private final Server server = Server.createLocalServer(StandardOps.registry());
  private final Device device = server.worker().devices().getFirst();
  private final ManagedChannel channel =
      TaskPeers.channel(server.target().substring("grpc://".length()), Runnable::run);
  private String graph;

  /** A worker's session with a graph that sends 9 to its own device. */
  @BeforeEach
  void register() {
    Graph g = StandardOps.newGraph();
    Scope s = Scope.of(g).withDevice(device.name());
    Output nine = s.node("Square").input(Const.of(s, 3f)).add().output();
    s.node("_Send")
        .input(nine)
        .attr("tensor_name", "nine")
        .attr("send_device", device.name())
        .attr("send_device_incarnation", device.incarnation())
        .attr("recv_device", device.name())
        .add();
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
  void nothingIsLeft() {
    awaitNone("steps", () -> server.worker().stepCount());
    call(
        GrpcMethods.DELETE_WORKER_SESSION,
        DeleteWorkerSessionRequest.newBuilder().setSessionHandle(SESSION).build());
    assertEquals(0, server.worker().sessionCount());
    channel.shutdownNow();
    server.close();
  }

  private static void awaitNone(String what, IntSupplier count) {
    long deadline = System.nanoTime() + 20_000_000_000L;
    while (count.getAsInt() > 0) {
      assertTrue(System.nanoTime() < deadline, () -> count.getAsInt() + " " + what + " are left");
      Thread.onSpinWait();
    }
  }

  private static CallOptions options() {
    return CallOptions.DEFAULT.withDeadlineAfter(20, TimeUnit.SECONDS);
  }

  private <Q, R> R call(MethodDescriptor<Q, R> method, Q request) {
    return ClientCalls.blockingUnaryCall(channel, method, options(), request);
  }

  private <Q, R> Status failure(MethodDescriptor<Q, R> method, Q request) {
    return assertThrows(StatusRuntimeException.class, () -> call(method, request)).getStatus();
  }

  private String key(String name) {
    return Rendezvous.Key.of(device.name(), device.incarnation(), device.name(), name).full();
  }

  private RunGraphRequest run(long stepId, long requestId) {
    return RunGraphRequest.newBuilder()
        .setSessionHandle(SESSION)
        .setCreateWorkerSessionCalled(true)
        .setGraphHandle(graph)
        .setStepId(stepId)
        .setRequestId(requestId)
        .addRecvKey(key("nine"))
        .build();
  }

  private void assertNine(RunGraphResponse r) {
    assertEquals(9f, TensorCodec.decode(r.getRecv(0).getTensor()).floatValue());
  }

  private void cleanUp(long stepId) {
    call(GrpcMethods.CLEANUP_GRAPH, CleanupGraphRequest.newBuilder().setStepId(stepId).build());
  }

  @Test
  void aStepIdMayComeTwiceARequestMayNot() {
    assertNine(call(GrpcMethods.RUN_GRAPH, run(5, 1)));
    assertNine(call(GrpcMethods.RUN_GRAPH, run(5, 2)));
    Status twice = failure(GrpcMethods.RUN_GRAPH, run(5, 2));
    assertEquals(Status.Code.ABORTED, twice.getCode());
    assertEquals("The same RunGraph request was received twice.", twice.getDescription());
    cleanUp(5);
  }

  @Test
  void twoRunsOfOneStepAtTheSameTimeBothAnswer() throws Exception {
    for (int i = 0; i < 50; i++) {
      ListenableFuture<RunGraphResponse> one = start(GrpcMethods.RUN_GRAPH, run(100 + i, 0));
      ListenableFuture<RunGraphResponse> two = start(GrpcMethods.RUN_GRAPH, run(100 + i, 0));
      assertNine(one.get(20, TimeUnit.SECONDS));
      assertNine(two.get(20, TimeUnit.SECONDS));
      cleanUp(100 + i);
    }
  }

  private <Q, R> ListenableFuture<R> start(MethodDescriptor<Q, R> method, Q request) {
    return ClientCalls.futureUnaryCall(channel.newCall(method, options()), request);
  }

  @Test
  void cleanupMayComeFirst() {
    cleanUp(6);
    assertNine(call(GrpcMethods.RUN_GRAPH, run(6, 0)));
  }

  @Test
  void aGraphIsDeregisteredOnce() {
    DeregisterGraphRequest r =
        DeregisterGraphRequest.newBuilder()
            .setSessionHandle(SESSION)
            .setCreateWorkerSessionCalled(true)
            .setGraphHandle(graph)
            .build();
    call(GrpcMethods.DEREGISTER_GRAPH, r);
    Status twice = failure(GrpcMethods.DEREGISTER_GRAPH, r);
    assertEquals(Status.Code.ABORTED, twice.getCode());
    assertEquals(
        "Graph handle is not found: " + graph + ". Possibly, this worker just restarted.",
        twice.getDescription());
    Status run = failure(GrpcMethods.RUN_GRAPH, run(7, 0));
    assertEquals(Status.Code.ABORTED, run.getCode());
    assertEquals("Graph handle is not found: " + graph, run.getDescription());
  }

  @Test
  void whoAsksAnUnknownStepIsToldWhenItIsCleanedUp() throws Exception {
    ListenableFuture<RecvTensorResponse> asked = ask(8);
    long deadline = System.nanoTime() + 20_000_000_000L;
    while (server.worker().stepCount() == 0) {
      assertTrue(System.nanoTime() < deadline, "the request has not arrived");
      Thread.onSpinWait();
    }
    cleanUp(8);
    assertAborted(asked);
    // And who asks for it afterwards is told at once.
    assertAborted(ask(8));
  }

  private ListenableFuture<RecvTensorResponse> ask(long stepId) {
    return start(
        GrpcMethods.RECV_TENSOR,
        RecvTensorRequest.newBuilder().setStepId(stepId).setRendezvousKey(key("never")).build());
  }

  private static void assertAborted(ListenableFuture<?> call) {
    ExecutionException e =
        assertThrows(ExecutionException.class, () -> call.get(20, TimeUnit.SECONDS));
    assertEquals(Status.Code.ABORTED, Status.fromThrowable(e.getCause()).getCode(), e::toString);
  }

  @Test
  void aSessionIsClosedOnceAndItsHandlesGoWithIt() {
    Graph g = StandardOps.newGraph();
    Output a = Const.of(Scope.of(g), 1f);
    String handle =
        call(
                GrpcMethods.CREATE_SESSION,
                CreateSessionRequest.newBuilder().setGraphDef(GraphCodec.encode(g)).build())
            .getSessionHandle();
    Status callable =
        failure(
            GrpcMethods.RUN_CALLABLE,
            RunCallableRequest.newBuilder().setSessionHandle(handle).setHandle(77).build());
    assertEquals(Status.Code.INVALID_ARGUMENT, callable.getCode());
    assertEquals("No such callable handle: 77", callable.getDescription());
    // To release what is not there is no mistake, as in TensorFlow.
    call(
        GrpcMethods.RELEASE_CALLABLE,
        ReleaseCallableRequest.newBuilder().setSessionHandle(handle).setHandle(77).build());
    Status partial =
        failure(
            GrpcMethods.RUN_STEP,
            RunStepRequest.newBuilder()
                .setSessionHandle(handle)
                .setPartialRunHandle("nobody's")
                .addFetch(a.name())
                .build());
    assertEquals(Status.Code.INVALID_ARGUMENT, partial.getCode(), partial::toString);
    assertTrue(partial.getDescription().contains("nobody's"), partial::toString);
    CloseSessionRequest close = CloseSessionRequest.newBuilder().setSessionHandle(handle).build();
    call(GrpcMethods.CLOSE_SESSION, close);
    assertEquals(Status.Code.ABORTED, failure(GrpcMethods.CLOSE_SESSION, close).getCode());
    assertEquals(
        Status.Code.ABORTED,
        failure(
                GrpcMethods.MAKE_CALLABLE,
                MakeCallableRequest.newBuilder().setSessionHandle(handle).build())
            .getCode());
    assertEquals(
        Status.Code.ABORTED,
        failure(
                GrpcMethods.PARTIAL_RUN_SETUP,
                PartialRunSetupRequest.newBuilder().setSessionHandle(handle).build())
            .getCode());
  }
}
