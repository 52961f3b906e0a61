package dev.millrace.cluster.http2;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.Server;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Rendezvous;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.proto.RecvTensorRequest;
import dev.millrace.runtime.Session;
import dev.millrace.runtime.device.Device;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A peer that asks for a large tensor and stops reading harms nobody, and is cut off in the end.
 */
class StalledReaderTest {
  private static final long STEP = 23;
  private static final int FLOATS = 16 << 20;

  private Server server;
  private long usedBytes;

  @BeforeEach
  void start() {
    server = Server.createLocalServer(StandardOps.registry());
    usedBytes = BufferPool.current().usedBytes();
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private static void await(String what, BooleanSupplier condition) throws InterruptedException {
    long deadline = System.nanoTime() + 60_000_000_000L;
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadline, what);
      TimeUnit.MILLISECONDS.sleep(20);
    }
  }

  /** Asks for 64 MiB and reads the first few KiB of them. */
  private SocketChannel askAndStopReading() throws IOException {
    Device d = server.worker().devices().getFirst();
    Rendezvous.Key key =
        Rendezvous.Key.of(d.name(), d.incarnation(), "/job:x/task:0/device:CPU:0", "large");
    server.worker().deliver(STEP, key, Refs.allocate(DType.FLOAT, Shape.of(FLOATS)));
    String target = server.target();
    int port = Integer.parseInt(target.substring(target.lastIndexOf(':') + 1));
    SocketChannel socket =
        SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    Http2Frames frames = new Http2Frames(socket, "localhost", null);
    frames.greet();
    frames.request(
        1,
        RecvTensorRequest.newBuilder()
            .setStepId(STEP)
            .setRendezvousKey(key.full())
            .build()
            .toByteArray());
    ByteBuffer some = ByteBuffer.allocate(8 << 10);
    while (some.hasRemaining()) {
      assertTrue(socket.read(some) > 0, "the answer has ended");
    }
    return socket;
  }

  private void othersGoOn() {
    Graph g = StandardOps.newGraph();
    Output y = Scope.of(g).node("Square").input(Const.of(Scope.of(g), 3f)).add().output();
    try (Session session =
        new ClusterSession(g, server.target().replace("localhost", "127.0.0.1"))) {
      for (int i = 0; i < 20; i++) {
        assertEquals(9f, session.fetch(y).floatValue());
      }
    }
  }

  /** Apart from the small results of other sessions, which go when they are collected. */
  private boolean isGivenBack() {
    return BufferPool.current().usedBytes() < usedBytes + FLOATS;
  }

  @Test
  void whatItDidNotReadIsGivenBackWhenItGoes() throws Exception {
    try (SocketChannel socket = askAndStopReading()) {
      assertTrue(socket.isConnected());
      othersGoOn();
    }
    await("the tensor is held after its reader has gone", this::isGivenBack);
    server.worker().cleanupStep(STEP);
    assertEquals(0, server.worker().stepCount());
  }

  @Test
  void itIsCutOffAfterAWhile() throws Exception {
    server.close();
    Config settings = Config.defaults().with(ClusterSettings.STALL, Duration.ofSeconds(1));
    try (Context context = Context.of("stall", settings)) {
      server = context.call(() -> Server.createLocalServer(StandardOps.registry()));
      isCutOff();
      server.close();
    }
  }

  private void isCutOff() throws Exception {
    try (SocketChannel socket = askAndStopReading()) {
      await("the tensor is held by a reader that does not read", this::isGivenBack);
      othersGoOn();
      // What the system had taken comes, but not all of the tensor.
      ByteBuffer rest = ByteBuffer.allocate(1 << 20);
      long read = 0;
      try {
        for (int n = socket.read(rest); n >= 0; n = socket.read(rest.clear())) {
          read += n;
        }
      } catch (IOException e) {
        // Cut off.
      }
      assertTrue(read < 4L * FLOATS, "all has come");
    }
    server.worker().cleanupStep(STEP);
  }
}
