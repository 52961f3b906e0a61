package dev.millrace.cluster.http2;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.Server;
import dev.millrace.graph.Rendezvous;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.RecvTensorRequest;
import dev.millrace.runtime.device.Device;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** RecvTensor between a server of ours and the channel made for it. */
class TensorChannelTest {
  private static final long STEP = 17;

  private final Server server = Server.createLocalServer(StandardOps.registry());
  private final String address = server.target().substring("grpc://".length());
  private final TensorChannel channel = new TensorChannel("/job:local/task:0", address);

  @AfterEach
  void stop() {
    channel.fail(new MillraceException(Code.CANCELLED, "the test is over"));
    server.close();
  }

  private Rendezvous.Key key(String name) {
    Device d = server.worker().devices().getFirst();
    return Rendezvous.Key.of(d.name(), d.incarnation(), "/job:x/task:0/device:CPU:0", name);
  }

  private TensorCall ask(String name) {
    TensorCall call = new TensorCall("the server at " + address);
    channel.ask(
        RecvTensorRequest.newBuilder().setStepId(STEP).setRendezvousKey(key(name).full()).build(),
        call);
    return call;
  }

  private static Tensor value(TensorCall call) throws Exception {
    return call.future().get(30, TimeUnit.SECONDS).value();
  }

  private static MillraceException failure(TensorCall call) {
    ExecutionException e =
        assertThrows(ExecutionException.class, () -> call.future().get(30, TimeUnit.SECONDS));
    return (MillraceException) e.getCause();
  }

  private static float[] numbers(int n) {
    float[] f = new float[n];
    for (int i = 0; i < n; i++) {
      f[i] = i * 0.5f - 7;
    }
    return f;
  }

  private void send(String name, float[] values) {
    server.worker().deliver(STEP, key(name), Refs.copy(Tensor.of(Shape.of(values.length), values)));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 4_000, 5_000, 100_003, 3_000_001})
  void aTensorOfAnySizeArrives(int n) throws Exception {
    send("before", numbers(n));
    TensorCall before = ask("before");
    TensorCall after = ask("after");
    send("after", numbers(n));
    for (TensorCall call : List.of(before, after)) {
      Tensor t = value(call);
      assertEquals(Shape.of(n), t.shape());
      assertArrayEquals(numbers(n), t.toFloats());
      Refs.release(t);
    }
  }

  @Test
  void manyAreUnderWayAtOnce() throws Exception {
    List<TensorCall> calls = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      calls.add(ask("t" + i));
    }
    for (int i = 49; i >= 0; i--) {
      send("t" + i, numbers(i * 3_000));
    }
    for (int i = 0; i < 50; i++) {
      Tensor t = value(calls.get(i));
      assertArrayEquals(numbers(i * 3_000), t.toFloats());
      Refs.release(t);
    }
  }

  @Test
  void stringsArrive() throws Exception {
    server.worker().deliver(STEP, key("s"), Refs.copy(Tensor.of(Shape.of(3), "Mühle", "", "Bach")));
    Tensor t = value(ask("s"));
    assertEquals(Tensor.of(Shape.of(3), "Mühle", "", "Bach").toString(), t.toString());
    Refs.release(t);
  }

  @Test
  void anErrorComesInTheServersWords() {
    TensorCall call = new TensorCall("the server");
    channel.ask(RecvTensorRequest.newBuilder().setRendezvousKey("100 % Unfüg").build(), call);
    MillraceException e = failure(call);
    assertEquals(Code.INVALID_ARGUMENT, e.code());
    assertTrue(e.getMessage().startsWith("'100 % Unfüg' is not a rendezvous key"), e.getMessage());
  }

  @Test
  void aCallGivenUpIsOverHereAndThereAndLeavesTheOthersAlone() throws Exception {
    TensorCall unwanted = ask("never");
    TensorCall wanted = ask("wanted");
    unwanted.cancel(new MillraceException(Code.CANCELLED, "not needed"));
    assertEquals("not needed", failure(unwanted).getMessage());
    send("never", numbers(1_000_000));
    send("wanted", numbers(1_000_000));
    Tensor t = value(wanted);
    assertArrayEquals(numbers(1_000_000), t.toFloats());
    Refs.release(t);
  }

  @Test
  void theEndOfTheServerEndsTheCallsAndNamesIt() {
    TensorCall call = ask("never");
    server.close();
    MillraceException e = failure(call);
    assertEquals(Code.UNAVAILABLE, e.code(), e.getMessage());
    // Its own word, or the connection's if the request had not reached it.
    assertTrue(e.getMessage().startsWith("/job:local/"), e.getMessage());
  }

  @Test
  void nobodyThereIsSaid() throws IOException {
    int free;
    try (ServerSocket s = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      free = s.getLocalPort();
    }
    TensorChannel nowhere = new TensorChannel("/job:ps/task:3", "127.0.0.1:" + free);
    TensorCall call = new TensorCall("");
    nowhere.ask(RecvTensorRequest.getDefaultInstance(), call);
    MillraceException e = failure(call);
    assertEquals(Code.UNAVAILABLE, e.code());
    assertTrue(
        e.getMessage().startsWith("/job:ps/task:3 at 127.0.0.1:" + free + " cannot be reached"),
        e.getMessage());
    assertTrue(nowhere.isClosed());
  }

  @Test
  void somethingElseBehindThePortIsSaid() throws Exception {
    try (ServerSocket s = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      TensorChannel other = new TensorChannel("/job:ps/task:0", "127.0.0.1:" + s.getLocalPort());
      TensorCall call = new TensorCall("");
      other.ask(RecvTensorRequest.getDefaultInstance(), call);
      try (Socket peer = s.accept()) {
        peer.getOutputStream()
            .write("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        MillraceException e = failure(call);
        assertEquals(Code.UNAVAILABLE, e.code());
        assertTrue(e.getMessage().contains("cannot be reached"), e.getMessage());
      }
    }
  }
}
