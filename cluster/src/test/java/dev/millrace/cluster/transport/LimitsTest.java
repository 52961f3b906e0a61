package dev.millrace.cluster.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.base.config.Config;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.Server;
import dev.millrace.cluster.http2.GrpcMethods;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Rendezvous;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.proto.CreateSessionRequest;
import dev.millrace.proto.GetStatusRequest;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.NamedTensorProto;
import dev.millrace.proto.NodeDef;
import dev.millrace.proto.RecvTensorRequest;
import dev.millrace.proto.RegisterGraphRequest;
import dev.millrace.proto.RunStepRequest;
import dev.millrace.runtime.device.Device;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.GraphCodec;
import dev.millrace.wire.TensorCodec;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A server limits what callers may use, and a refusal names the limit. */
class LimitsTest {
  private static final byte[] PREFACE =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  /** An empty SETTINGS frame. */
  private static final byte[] SETTINGS = {0, 0, 0, 4, 0, 0, 0, 0, 0};

  private final List<ManagedChannel> channels = new ArrayList<>();
  private Context context;
  private Server server;

  /** Starts a server with these properties. */
  private ManagedChannel start(Map<String, String> properties) {
    Map<String, String> named = new HashMap<>();
    properties.forEach((k, v) -> named.put("millrace." + k, v));
    context = Context.of("limits", Config.of(named, Map.of()));
    server = context.call(() -> Server.createLocalServer(StandardOps.registry()));
    return connect();
  }

  private ManagedChannel connect() {
    ManagedChannel c =
        TaskPeers.channel(server.target().substring("grpc://".length()), Runnable::run);
    channels.add(c);
    return c;
  }

  @AfterEach
  void stop() {
    channels.forEach(ManagedChannel::shutdownNow);
    if (server != null) {
      server.close();
      context.close();
    }
  }

  private static CallOptions soon() {
    return CallOptions.DEFAULT.withDeadlineAfter(30, TimeUnit.SECONDS);
  }

  private static <Q, R> R call(ManagedChannel channel, MethodDescriptor<Q, R> method, Q request) {
    return ClientCalls.blockingUnaryCall(channel, method, soon(), request);
  }

  private static <Q, R> Status refusal(
      ManagedChannel channel, MethodDescriptor<Q, R> method, CallOptions options, Q request) {
    return assertThrows(
            StatusRuntimeException.class,
            () -> ClientCalls.blockingUnaryCall(channel, method, options, request))
        .getStatus();
  }

  private static void assertExhausted(Status s, String property) {
    assertEquals(Status.Code.RESOURCE_EXHAUSTED, s.getCode(), s::toString);
    assertTrue(s.getDescription().contains("-Dmillrace.limit." + property), s::toString);
  }

  private static void assertAnswers(ManagedChannel channel) {
    assertEquals(
        1,
        call(channel, GrpcMethods.GET_STATUS, GetStatusRequest.getDefaultInstance())
            .getDeviceAttributesCount());
  }

  private static String open(ManagedChannel channel) {
    return call(channel, GrpcMethods.CREATE_SESSION, CreateSessionRequest.getDefaultInstance())
        .getSessionHandle();
  }

  private static void await(String what, BooleanSupplier condition) throws InterruptedException {
    long deadline = System.nanoTime() + 30_000_000_000L;
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadline, what);
      TimeUnit.MILLISECONDS.sleep(10);
    }
  }

  private static RunStepRequest bytesFor(String session, int bytes) {
    return RunStepRequest.newBuilder()
        .setSessionHandle(session)
        .addFeed(
            NamedTensorProto.newBuilder()
                .setName("x:0")
                .setTensor(TensorCodec.encode(Tensor.vector(new float[bytes / 4]))))
        .addFetch("y:0")
        .build();
  }

  @Test
  void compressedMessagesAreRefused() {
    ManagedChannel c = start(Map.of());
    Status s = refusal(c, GrpcMethods.GREET, soon().withCompression("gzip"), new byte[3 << 20]);
    assertEquals(Status.Code.UNIMPLEMENTED, s.getCode());
    assertTrue(s.getDescription().startsWith("Messages compressed by gzip are not accepted."));
    assertAnswers(c);
  }

  @Test
  void aMessageWithoutTensorsIsShort() {
    ManagedChannel c = start(Map.of());
    assertExhausted(
        refusal(c, GrpcMethods.GREET, soon(), new byte[5 << 20]), "small.message.bytes");
    assertAnswers(c);
  }

  @Test
  void messagesTogetherLeaveHalfOfTheHeap() {
    ManagedChannel c = start(Map.of("limit.pending.bytes", "2000000"));
    String session = open(c);
    for (int i = 0; i < 3; i++) {
      assertExhausted(
          refusal(c, GrpcMethods.RUN_STEP, soon(), bytesFor(session, 8 << 20)), "pending.bytes");
      // Refused and served requests no longer count.
      Status unknown = refusal(c, GrpcMethods.RUN_STEP, soon(), bytesFor(session, 1 << 20));
      assertEquals(Status.Code.NOT_FOUND, unknown.getCode(), unknown::toString);
    }
  }

  @Test
  void aGraphThatDoesNotFitTheHeapIsRefused() {
    int nodes = (int) Math.min(20_000_000, Runtime.getRuntime().maxMemory() / 2000 + 1);
    GraphDef graph =
        GraphDef.newBuilder()
            .addAllNode(Collections.nCopies(nodes, NodeDef.newBuilder().setOp("NoOp").build()))
            .build();
    MillraceException e =
        assertThrows(MillraceException.class, () -> HeapReservation.forGraph(graph).close());
    assertTrue(e.getMessage().startsWith("A graph of " + nodes + " nodes needs"), e::getMessage);
  }

  /** Reads what the server says until it closes the connection. */
  private static int answerOf(Socket s) throws IOException {
    s.setSoTimeout(30_000);
    InputStream in = s.getInputStream();
    int bytes = 0;
    try {
      while (in.read() >= 0) {
        bytes++;
      }
    } catch (java.net.SocketException e) {
      // Cut off.
    }
    return bytes;
  }

  private Socket socket() throws IOException {
    return new Socket(
        InetAddress.getLoopbackAddress(),
        Integer.parseInt(server.target().substring(server.target().lastIndexOf(':') + 1)));
  }

  @Test
  void whoSaysNothingOrLittleIsCutOff() throws Exception {
    ManagedChannel c = start(Map.of("limit.request.seconds", "1"));
    try (Socket silent = socket();
        Socket slow = socket();
        Socket idle = socket();
        Socket unfinished = socket()) {
      slow.getOutputStream().write(PREFACE, 0, 5);
      idle.getOutputStream().write(PREFACE);
      idle.getOutputStream().write(SETTINGS);
      unfinished.getOutputStream().write(PREFACE);
      unfinished.getOutputStream().write(SETTINGS);
      // Headers of which the end does not come.
      unfinished.getOutputStream().write(new byte[] {0, 0, 1, 1, 0, 0, 0, 0, 1, (byte) 0x83});
      for (Socket s : List.of(silent, slow, idle, unfinished)) {
        answerOf(s);
      }
    }
    // A call of which only the beginning comes, over a connection that is well otherwise.
    ClientCall<byte[], byte[]> call = c.newCall(GrpcMethods.GREET, CallOptions.DEFAULT);
    Status[] status = new Status[1];
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onClose(Status s, Metadata trailers) {
            status[0] = s;
          }
        },
        new Metadata());
    call.sendMessage(new byte[10]);
    await("an end of the call", () -> status[0] != null);
    assertEquals(Status.Code.DEADLINE_EXCEEDED, status[0].getCode(), status[0]::toString);
    assertTrue(status[0].getDescription().contains("-Dmillrace.limit.request.seconds"));
    assertAnswers(c);
  }

  @Test
  void anIdleConnectionIsClosedUnlessItHoldsASession() throws Exception {
    ManagedChannel holder = start(Map.of("limit.request.seconds", "1", "limit.idle.seconds", "1"));
    open(holder);
    ManagedChannel other = connect();
    assertAnswers(other);
    await("the idle connection closed", () -> other.getState(false) != ConnectivityState.READY);
    assertEquals(ConnectivityState.READY, holder.getState(false));
    // The next call opens it again.
    assertAnswers(other);
  }

  @Test
  void whoBreaksOffCallAfterCallIsCutOff() throws Exception {
    ManagedChannel c = start(Map.of("limit.resets", "100"));
    assertAnswers(c);
    boolean[] lost = new boolean[1];
    c.notifyWhenStateChanged(ConnectivityState.READY, () -> lost[0] = true);
    for (int i = 0; i < 5000 && !lost[0]; i++) {
      ClientCall<byte[], byte[]> call = c.newCall(GrpcMethods.GREET, CallOptions.DEFAULT);
      call.start(new ClientCall.Listener<>() {}, new Metadata());
      call.sendMessage(new byte[10]);
      call.cancel("given up", null);
    }
    await("the connection closed", () -> lost[0]);
    assertAnswers(connect());
  }

  @Test
  void aConnectionHoldsSoManySessions() {
    ManagedChannel c = start(Map.of("limit.sessions", "3"));
    for (int i = 0; i < 3; i++) {
      open(c);
    }
    assertExhausted(
        refusal(c, GrpcMethods.CREATE_SESSION, soon(), CreateSessionRequest.getDefaultInstance()),
        "sessions");
    // Other clients are not affected.
    open(connect());
  }

  @Test
  void whatIsLeftBehindGoesSoon() throws Exception {
    ManagedChannel c = start(Map.of("session.grace.millis", "200"));
    Device device = server.worker().devices().getFirst();
    Graph graph = StandardOps.newGraph();
    Const.of(Scope.of(graph).withDevice(device.name()), 1f);
    // Without a session, as a master of TensorFlow does.
    call(
        c,
        GrpcMethods.REGISTER_GRAPH,
        RegisterGraphRequest.newBuilder().setGraphDef(GraphCodec.encode(graph)).build());
    open(c);
    assertTrue(server.worker().servesOthers());
    c.shutdownNow();
    await("no graph", () -> !server.worker().servesOthers());
    await("no session", () -> server.worker().sessionCount() == 0);
  }

  @Test
  void soManyWaitForStepsThatHaveNotBegun() throws Exception {
    ManagedChannel c = start(Map.of("limit.early", "5"));
    Device d = server.worker().devices().getFirst();
    String key = Rendezvous.Key.of(d.name(), d.incarnation(), d.name(), "x").full();
    for (int i = 1; i <= 5; i++) {
      ClientCalls.futureUnaryCall(
          c.newCall(GrpcMethods.RECV_TENSOR, CallOptions.DEFAULT), ask(i, key));
    }
    await("five steps", () -> server.worker().stepCount() == 5);
    assertExhausted(refusal(c, GrpcMethods.RECV_TENSOR, soon(), ask(6, key)), "early");
    assertEquals(5, server.worker().stepCount());
    c.shutdownNow();
    await("no step", () -> server.worker().stepCount() == 0);
  }

  private static RecvTensorRequest ask(long step, String key) {
    return RecvTensorRequest.newBuilder().setStepId(step).setRendezvousKey(key).build();
  }
}
