package dev.millrace.cluster.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.util.concurrent.ListenableFuture;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.http2.GrpcMethods;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Rendezvous;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.accumulator.AccumulatorOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.queue.QueueAccess;
import dev.millrace.proto.CallableOptions;
import dev.millrace.proto.ClusterDef;
import dev.millrace.proto.ConfigProto;
import dev.millrace.proto.CreateSessionRequest;
import dev.millrace.proto.JobDef;
import dev.millrace.proto.MakeCallableRequest;
import dev.millrace.proto.NamedTensorProto;
import dev.millrace.proto.PartialRunSetupRequest;
import dev.millrace.proto.RecvTensorRequest;
import dev.millrace.proto.RegisterGraphRequest;
import dev.millrace.proto.RunCallableRequest;
import dev.millrace.proto.RunGraphRequest;
import dev.millrace.proto.RunStepRequest;
import dev.millrace.proto.RunStepResponse;
import dev.millrace.runtime.device.Device;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.GraphCodec;
import dev.millrace.wire.TensorCodec;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** An abandoned call takes nothing that another client could have. */
class CancelledCallsTest {
  private final Server server = Server.createLocalServer(StandardOps.registry());
  private final Device device = server.worker().devices().getFirst();
  private final ManagedChannel gone = channel();
  private final ManagedChannel other = channel();
  private final Graph graph = StandardOps.newGraph();
  private final Scope scope = Scope.of(graph).withDevice(device.name());

  private final Output queue =
      scope
          .withName("queue")
          .node("FIFOQueueV2")
          .attr("component_types", List.of(DType.FLOAT))
          .attr("shapes", List.of(Shape.scalar()))
          .attr("shared_name", "queue")
          .add()
          .output();

  private final Output element = QueueAccess.dequeue(scope, queue, List.of(DType.FLOAT)).output(0);

  private ManagedChannel channel() {
    return TaskPeers.channel(server.target().substring("grpc://".length()), Runnable::run);
  }

  @AfterEach
  void stop() {
    gone.shutdownNow();
    other.shutdownNow();
    server.close();
  }

  private static <Q, R> R call(ManagedChannel channel, MethodDescriptor<Q, R> method, Q request) {
    return ClientCalls.blockingUnaryCall(
        channel, method, CallOptions.DEFAULT.withDeadlineAfter(20, TimeUnit.SECONDS), request);
  }

  private static <Q, R> ListenableFuture<R> begin(
      ManagedChannel channel, MethodDescriptor<Q, R> method, Q request) {
    return ClientCalls.futureUnaryCall(channel.newCall(method, CallOptions.DEFAULT), request);
  }

  private String open(ManagedChannel channel) {
    return call(
            channel,
            GrpcMethods.CREATE_SESSION,
            CreateSessionRequest.newBuilder().setGraphDef(GraphCodec.encode(graph)).build())
        .getSessionHandle();
  }

  private static RunStepRequest fetch(String session, Output what) {
    return RunStepRequest.newBuilder().setSessionHandle(session).addFetch(what.name()).build();
  }

  private static void await(String what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + 20_000_000_000L;
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadline, what);
      Thread.onSpinWait();
    }
  }

  private void awaitSteps(int count) {
    await(count + " steps", () -> server.worker().stepCount() == count);
  }

  private void run(ManagedChannel channel, String session, Node target) {
    call(
        channel,
        GrpcMethods.RUN_STEP,
        RunStepRequest.newBuilder().setSessionHandle(session).addTarget(target.name()).build());
  }

  private static float value(RunStepResponse r) {
    return TensorCodec.decode(r.getTensor(0).getTensor()).floatValue();
  }

  /** An element enqueued after a call was abandoned goes to another client. */
  private void anotherClientGetsTheElement() {
    awaitSteps(0);
    Node put = QueueAccess.enqueue(scope, queue, List.of(Const.of(scope, 7f)));
    String session = open(other);
    run(other, session, put);
    assertEquals(7f, value(call(other, GrpcMethods.RUN_STEP, fetch(session, element))));
  }

  @Test
  void aStepThatItsClientCancels() {
    var step = begin(gone, GrpcMethods.RUN_STEP, fetch(open(gone), element));
    awaitSteps(1);
    step.cancel(true);
    anotherClientGetsTheElement();
  }

  @Test
  void aStepWhoseClientIsGone() {
    begin(gone, GrpcMethods.RUN_STEP, fetch(open(gone), element));
    awaitSteps(1);
    gone.shutdownNow();
    anotherClientGetsTheElement();
  }

  @Test
  void aStepWhoseDeadlineHasPassed() {
    RunStepRequest step = fetch(open(gone), element);
    StatusRuntimeException late =
        assertThrows(
            StatusRuntimeException.class,
            () ->
                ClientCalls.blockingUnaryCall(
                    gone,
                    GrpcMethods.RUN_STEP,
                    CallOptions.DEFAULT.withDeadlineAfter(300, TimeUnit.MILLISECONDS),
                    step));
    assertEquals(Status.Code.DEADLINE_EXCEEDED, late.getStatus().getCode());
    anotherClientGetsTheElement();
  }

  @Test
  void aCallable() {
    String session = open(gone);
    long handle =
        call(
                gone,
                GrpcMethods.MAKE_CALLABLE,
                MakeCallableRequest.newBuilder()
                    .setSessionHandle(session)
                    .setOptions(CallableOptions.newBuilder().addFetch(element.name()))
                    .build())
            .getHandle();
    var step =
        begin(
            gone,
            GrpcMethods.RUN_CALLABLE,
            RunCallableRequest.newBuilder().setSessionHandle(session).setHandle(handle).build());
    awaitSteps(1);
    step.cancel(true);
    anotherClientGetsTheElement();
  }

  @Test
  void aPartialRun() {
    Output x = Placeholder.of(scope.withName("x"), DType.FLOAT, Shape.scalar());
    Output sum = scope.node("AddV2").input(element).input(x).add().output();
    String session = open(gone);
    String handle =
        call(
                gone,
                GrpcMethods.PARTIAL_RUN_SETUP,
                PartialRunSetupRequest.newBuilder()
                    .setSessionHandle(session)
                    .addFeed(x.name())
                    .addFetch(sum.name())
                    .build())
            .getPartialRunHandle();
    var step =
        begin(
            gone,
            GrpcMethods.RUN_STEP,
            fetch(session, sum).toBuilder()
                .setPartialRunHandle(handle)
                .addFeed(
                    NamedTensorProto.newBuilder()
                        .setName(x.name())
                        .setTensor(TensorCodec.encode(Tensor.scalar(1f))))
                .build());
    awaitSteps(1);
    step.cancel(true);
    anotherClientGetsTheElement();
  }

  /** As a master of TensorFlow calls a parameter server. */
  @Test
  void aPartOfAMastersStep() {
    Graph part = StandardOps.newGraph();
    GraphCodec.importInto(GraphCodec.encode(graph), part, false);
    String handle =
        call(
                gone,
                GrpcMethods.REGISTER_GRAPH,
                RegisterGraphRequest.newBuilder().setGraphDef(GraphCodec.encode(part)).build())
            .getGraphHandle();
    var step =
        begin(
            gone,
            GrpcMethods.RUN_GRAPH,
            RunGraphRequest.newBuilder().setGraphHandle(handle).setStepId(5).build());
    awaitSteps(1);
    step.cancel(true);
    anotherClientGetsTheElement();
  }

  @Test
  void whoWaitsForTheAverageOfGradients() {
    Output accumulator = AccumulatorOps.of(scope, DType.FLOAT, Shape.scalar(), "average");
    Output average = AccumulatorOps.take(scope, accumulator, Const.of(scope, 1), DType.FLOAT);
    Node apply = AccumulatorOps.apply(scope, accumulator, Const.of(scope, 0L), Const.of(scope, 5f));
    var step = begin(gone, GrpcMethods.RUN_STEP, fetch(open(gone), average));
    awaitSteps(1);
    step.cancel(true);
    awaitSteps(0);
    String session = open(other);
    run(other, session, apply);
    assertEquals(5f, value(call(other, GrpcMethods.RUN_STEP, fetch(session, average))));
  }

  /** A tensor whose request was cancelled stays available for the next request. */
  @Test
  void whoAsksForATensor() throws Exception {
    RecvTensorRequest ask =
        RecvTensorRequest.newBuilder()
            .setStepId(6)
            .setRendezvousKey(
                Rendezvous.Key.of(device.name(), device.incarnation(), device.name(), "x").full())
            .build();
    var first = begin(gone, GrpcMethods.RECV_TENSOR, ask);
    awaitSteps(1);
    first.cancel(true);
    awaitSteps(0);
    var second = begin(gone, GrpcMethods.RECV_TENSOR, ask);
    awaitSteps(1);
    gone.shutdownNow();
    awaitSteps(0);
    assertTrue(second.isDone());
  }

  @Test
  void aSessionThatIsBeingOpened() throws Exception {
    // A task that is never started.
    CreateSessionRequest request =
        CreateSessionRequest.newBuilder()
            .setTarget(address())
            .setConfig(
                ConfigProto.newBuilder()
                    .setClusterDef(
                        ClusterDef.newBuilder()
                            .addJob(
                                JobDef.newBuilder()
                                    .setName("local")
                                    .putTasks(0, address())
                                    .putTasks(1, "localhost:1"))))
            .build();
    var session = begin(gone, GrpcMethods.CREATE_SESSION, request);
    await("a session being opened", () -> serving() > 0);
    session.cancel(true);
    await("no session being opened", () -> serving() == 0);
  }

  private String address() {
    return server.target().substring("grpc://".length());
  }

  /** How many threads are in the method that opens sessions. */
  private static long serving() {
    return Thread.getAllStackTraces().values().stream()
        .filter(
            frames ->
                Arrays.stream(frames)
                    .anyMatch(
                        f ->
                            f.getClassName().equals(MasterEndpoint.class.getName())
                                && f.getMethodName().equals("createSession")))
        .count();
  }
}
