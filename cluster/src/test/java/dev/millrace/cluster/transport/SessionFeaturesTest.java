package dev.millrace.cluster.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.http2.GrpcMethods;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.queue.QueueAccess;
import dev.millrace.ops.state.Assign;
import dev.millrace.proto.CallableOptions;
import dev.millrace.proto.CloseSessionRequest;
import dev.millrace.proto.ConfigProto;
import dev.millrace.proto.CostGraphDef;
import dev.millrace.proto.CreateSessionRequest;
import dev.millrace.proto.GraphOptions;
import dev.millrace.proto.MakeCallableRequest;
import dev.millrace.proto.NamedTensorProto;
import dev.millrace.proto.NodeDef;
import dev.millrace.proto.NodeExecStats;
import dev.millrace.proto.PartialRunSetupRequest;
import dev.millrace.proto.ReleaseCallableRequest;
import dev.millrace.proto.ResetRequest;
import dev.millrace.proto.RunCallableRequest;
import dev.millrace.proto.RunMetadata;
import dev.millrace.proto.RunOptions;
import dev.millrace.proto.RunStepRequest;
import dev.millrace.proto.TensorProto;
import dev.millrace.runtime.Session;
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
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a session can do beside running steps, as clients of other makes ask for it. */
class SessionFeaturesTest {
  private final Server server = Server.createLocalServer(StandardOps.registry());
  private final ManagedChannel channel =
      TaskPeers.channel(server.target().substring("grpc://".length()), Runnable::run);
  private final Graph graph = StandardOps.newGraph();
  private final Scope scope = Scope.of(graph);

  @AfterEach
  void stop() {
    // The calls that end steps and sessions of a session with its own cluster have no waiting
    // caller.
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (server.worker().sessionCount() + server.worker().stepCount() > 0
        && System.nanoTime() < deadline) {
      Thread.onSpinWait();
    }
    assertEquals(0, server.worker().sessionCount());
    assertEquals(0, server.worker().stepCount());
    channel.shutdownNow();
    server.close();
  }

  private <Q, R> R call(MethodDescriptor<Q, R> method, Q request) {
    return ClientCalls.blockingUnaryCall(
        channel, method, CallOptions.DEFAULT.withDeadlineAfter(20, TimeUnit.SECONDS), request);
  }

  private String open() {
    return call(
            GrpcMethods.CREATE_SESSION,
            CreateSessionRequest.newBuilder().setGraphDef(GraphCodec.encode(graph)).build())
        .getSessionHandle();
  }

  private void close(String handle) {
    call(
        GrpcMethods.CLOSE_SESSION,
        CloseSessionRequest.newBuilder().setSessionHandle(handle).build());
  }

  private static TensorProto number(float v) {
    return TensorCodec.encode(Tensor.scalar(v));
  }

  private static float number(TensorProto t) {
    return TensorCodec.decode(t).floatValue();
  }

  @Test
  void aCallableIsMadeOnceAndRunOften() {
    Output x = Placeholder.of(scope.withName("x"), DType.FLOAT, Shape.scalar());
    Output y = scope.node("Square").input(x).add().output();
    String handle = open();
    long callable =
        call(
                GrpcMethods.MAKE_CALLABLE,
                MakeCallableRequest.newBuilder()
                    .setSessionHandle(handle)
                    .setOptions(CallableOptions.newBuilder().addFeed(x.name()).addFetch(y.name()))
                    .build())
            .getHandle();
    RunCallableRequest.Builder run =
        RunCallableRequest.newBuilder().setSessionHandle(handle).setHandle(callable);
    for (int i = 1; i < 4; i++) {
      RunCallableRequest r = run.clone().addFeed(number(i)).build();
      assertEquals(i * i, number(call(GrpcMethods.RUN_CALLABLE, r).getFetch(0)));
    }
    assertEquals(Status.Code.INVALID_ARGUMENT, failure(run.clone().build()));
    call(
        GrpcMethods.RELEASE_CALLABLE,
        ReleaseCallableRequest.newBuilder().setSessionHandle(handle).setHandle(callable).build());
    assertEquals(Status.Code.INVALID_ARGUMENT, failure(run.clone().addFeed(number(1)).build()));
    close(handle);
  }

  private Status.Code failure(RunCallableRequest r) {
    return assertThrows(StatusRuntimeException.class, () -> call(GrpcMethods.RUN_CALLABLE, r))
        .getStatus()
        .getCode();
  }

  @Test
  void aPartialRunIsFedAsItGoes() {
    Output a = Placeholder.of(scope.withName("a"), DType.FLOAT, Shape.scalar());
    Output b = Placeholder.of(scope.withName("b"), DType.FLOAT, Shape.scalar());
    Output square = scope.node("Square").input(a).add().output();
    Output product = scope.node("Mul").input(square).input(b).add().output();
    String handle = open();
    String partial = setUp(handle, List.of(a, b), List.of(square, product));
    RunStepRequest first = partOf(handle, partial, a, 3, square);
    assertEquals(9f, number(call(GrpcMethods.RUN_STEP, first).getTensor(0).getTensor()));
    // What was fed cannot be fed again; the run goes on.
    Status again =
        assertThrows(StatusRuntimeException.class, () -> call(GrpcMethods.RUN_STEP, first))
            .getStatus();
    assertEquals(Status.Code.INVALID_ARGUMENT, again.getCode());
    assertEquals("The feed a:0 has already been fed.", again.getDescription());
    assertEquals(
        "The fetch " + square.name() + " has already been fetched.",
        refusal(partOf(handle, partial, b, 5, square)));
    assertEquals(
        "The feed " + square.name() + " was not specified in partial_run_setup.",
        refusal(partOf(handle, partial, square, 5, product)));
    RunStepRequest second = partOf(handle, partial, b, 5, product);
    assertEquals(45f, number(call(GrpcMethods.RUN_STEP, second).getTensor(0).getTensor()));
    Status over =
        assertThrows(StatusRuntimeException.class, () -> call(GrpcMethods.RUN_STEP, second))
            .getStatus();
    assertEquals(Status.Code.INVALID_ARGUMENT, over.getCode());
    close(handle);
  }

  private String setUp(String handle, List<Output> feeds, List<Output> fetches) {
    PartialRunSetupRequest.Builder request =
        PartialRunSetupRequest.newBuilder().setSessionHandle(handle);
    feeds.forEach(f -> request.addFeed(f.name()));
    fetches.forEach(f -> request.addFetch(f.name()));
    return call(GrpcMethods.PARTIAL_RUN_SETUP, request.build()).getPartialRunHandle();
  }

  private String refusal(RunStepRequest r) {
    return assertThrows(StatusRuntimeException.class, () -> call(GrpcMethods.RUN_STEP, r))
        .getStatus()
        .getDescription();
  }

  /** The session's cluster is not the server's, which is a task of it by another name. */
  @Test
  void aPartialRunIsFedAsItGoesInAClusterOfTheSessionsOwn() {
    Output a = Placeholder.of(scope.withName("a"), DType.FLOAT, Shape.scalar());
    Output square = scope.node("Square").input(a).add().output();
    Output root = scope.node("Sqrt").input(square).add().output();
    String address = server.target().substring("grpc://".length());
    ClusterSpec named = ClusterSpec.of(Map.of("trainer", List.of(address)));
    String handle =
        call(
                GrpcMethods.CREATE_SESSION,
                CreateSessionRequest.newBuilder()
                    .setGraphDef(GraphCodec.encode(graph))
                    .setTarget(server.target())
                    .setConfig(ConfigProto.newBuilder().setClusterDef(named.encode()))
                    .build())
            .getSessionHandle();
    String partial = setUp(handle, List.of(a), List.of(square, root));
    RunStepRequest first = partOf(handle, partial, a, 3, square);
    assertEquals(9f, number(call(GrpcMethods.RUN_STEP, first).getTensor(0).getTensor()));
    RunStepRequest second = first.toBuilder().clearFeed().setFetch(0, root.name()).build();
    assertEquals(3f, number(call(GrpcMethods.RUN_STEP, second).getTensor(0).getTensor()));
    close(handle);
  }

  @Test
  void aStepTellsWhatItIsAskedFor() {
    Output a = Const.of(scope.withName("a"), 3f);
    Output x = Placeholder.of(scope.withName("x"), DType.FLOAT, Shape.scalar());
    Output product = scope.withName("product").node("Mul").input(a).input(x).add().output();
    String handle =
        call(
                GrpcMethods.CREATE_SESSION,
                CreateSessionRequest.newBuilder()
                    .setGraphDef(GraphCodec.encode(graph))
                    .setConfig(
                        ConfigProto.newBuilder()
                            .setGraphOptions(GraphOptions.newBuilder().setBuildCostModel(3)))
                    .build())
            .getSessionHandle();
    RunStepRequest run =
        RunStepRequest.newBuilder()
            .setSessionHandle(handle)
            .addFeed(NamedTensorProto.newBuilder().setName(x.name()).setTensor(number(2)))
            .addFetch(product.name())
            .build();
    assertEquals(RunMetadata.getDefaultInstance(), call(GrpcMethods.RUN_STEP, run).getMetadata());
    RunMetadata told =
        call(
                GrpcMethods.RUN_STEP,
                run.toBuilder()
                    .setOptions(
                        RunOptions.newBuilder()
                            .setTraceLevel(RunOptions.TraceLevel.FULL_TRACE)
                            .setOutputPartitionGraphs(true))
                    .build())
            .getMetadata();
    assertEquals(1, told.getPartitionGraphsCount());
    List<String> nodes =
        told.getPartitionGraphs(0).getNodeList().stream().map(NodeDef::getName).toList();
    assertTrue(nodes.containsAll(List.of("a", "product")), nodes::toString);
    List<String> ran =
        told.getStepStats().getDevStats(0).getNodeStatsList().stream()
            .map(NodeExecStats::getNodeName)
            .toList();
    assertTrue(ran.containsAll(List.of("a", "product")), ran::toString);
    assertFalse(told.hasCostGraph());
    // Of every three runs one is measured.
    RunMetadata third = call(GrpcMethods.RUN_STEP, run).getMetadata();
    assertFalse(third.hasStepStats());
    List<String> measured =
        third.getCostGraph().getNodeList().stream().map(CostGraphDef.Node::getName).toList();
    assertTrue(measured.containsAll(List.of("a", "product")), measured::toString);
    assertFalse(call(GrpcMethods.RUN_STEP, run).getMetadata().hasCostGraph());
    close(handle);
  }

  private static RunStepRequest partOf(
      String session, String partial, Output feed, float value, Output fetch) {
    return RunStepRequest.newBuilder()
        .setSessionHandle(session)
        .setPartialRunHandle(partial)
        .addFeed(NamedTensorProto.newBuilder().setName(feed.name()).setTensor(number(value)))
        .addFetch(fetch.name())
        .build();
  }

  /** A variable in a container, initialized and read. */
  private record Kept(Node init, Output read) {}

  private Kept variable(String name, String container) {
    Output v =
        scope
            .withName(name)
            .node("VariableV2")
            .attr("dtype", DType.FLOAT)
            .attr("shape", Shape.scalar())
            .attr("container", container)
            .add()
            .output();
    return new Kept(Assign.of(scope, v, Const.of(scope, 7f)), Identity.of(scope, v));
  }

  private void assertUninitialized(Session session, Output read) {
    MillraceException e = assertThrows(MillraceException.class, () -> session.fetch(read));
    assertEquals(Code.FAILED_PRECONDITION, e.code(), e::getMessage);
  }

  @Test
  void resetClearsTheContainersThatAreNamed() {
    Kept one = variable("one", "first");
    Kept two = variable("two", "second");
    try (Session session = new ClusterSession(graph, server.target())) {
      session.run(one.init, two.init);
    }
    call(GrpcMethods.RESET, ResetRequest.newBuilder().addContainer("first").build());
    try (Session session = new ClusterSession(graph, server.target())) {
      assertEquals(7f, session.fetch(two.read).floatValue());
      assertUninitialized(session, one.read);
    }
    String open = open();
    call(GrpcMethods.RESET, ResetRequest.getDefaultInstance());
    // Sessions end with it.
    assertThrows(StatusRuntimeException.class, () -> close(open));
  }

  @Test
  void isolatedSessionsHaveStateOfTheirOwn() {
    Kept v = variable("v", "");
    ConfigProto isolated = ConfigProto.newBuilder().setIsolateSessionState(true).build();
    try (Session one = new ClusterSession(graph, server.target(), isolated);
        Session two = new ClusterSession(graph, server.target(), isolated);
        Session shared = new ClusterSession(graph, server.target())) {
      one.run(v.init);
      assertEquals(7f, one.fetch(v.read).floatValue());
      assertUninitialized(two, v.read);
      assertUninitialized(shared, v.read);
    }
  }

  @Test
  void softPlacementTakesTheDeviceThereIs() {
    Output a = Const.of(scope.withDevice("/device:GPU:3"), 2f);
    Output y = scope.withDevice("/device:GPU:3").node("Square").input(a).add().output();
    ConfigProto soft = ConfigProto.newBuilder().setAllowSoftPlacement(true).build();
    try (Session session = new ClusterSession(graph, server.target(), soft)) {
      assertEquals(4f, session.fetch(y).floatValue());
    }
    try (Session session = new ClusterSession(graph, server.target())) {
      MillraceException e = assertThrows(MillraceException.class, () -> session.fetch(y));
      assertEquals(Code.INVALID_ARGUMENT, e.code(), e::getMessage);
      assertTrue(e.getMessage().contains("GPU:3"), e::getMessage);
      assertTrue(e.getMessage().contains("CPU:0"), e::getMessage);
    }
  }

  /** As testDefaultServerTimeout of TensorFlow. */
  @Test
  void theServersTimeoutIsForStepsThatNameNone() {
    Output queue =
        scope.node("FIFOQueueV2").attr("component_types", List.of(DType.FLOAT)).add().output();
    Output element = QueueAccess.dequeue(scope, queue, List.of(DType.FLOAT)).output(0);
    ConfigProto sessions = ConfigProto.newBuilder().setOperationTimeoutInMs(200).build();
    try (Server impatient = Server.createLocalServer(StandardOps.registry(), sessions)) {
      // In the server's process, and as other processes reach it.
      String far = impatient.target().replace("localhost", "127.0.0.1");
      for (String target : List.of(impatient.target(), far)) {
        try (Session s = new ClusterSession(graph, target)) {
          MillraceException late = assertThrows(MillraceException.class, () -> s.fetch(element));
          assertEquals(Code.DEADLINE_EXCEEDED, late.code(), late::toString);
          assertTrue(late.getMessage().contains("200 ms"), late::getMessage);
        }
      }
    }
  }
}
