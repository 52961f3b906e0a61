package dev.millrace.simulation;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SimulatedNetworkTest {
  private static final Duration LIMIT = Duration.ofMinutes(10);
  private static final int PORT = 7000;

  private Simulation simulation;
  private SimulatedProcess server;
  private SimulatedProcess client;
  private final List<String> ends = new ArrayList<>();
  private final ByteArrayOutputStream received = new ByteArrayOutputStream();

  @BeforeEach
  void start() {
    simulation = new Simulation(7);
    server = simulation.process("server");
    client = simulation.process("client");
  }

  /** What one end of a connection does. */
  @FunctionalInterface
  private interface End {
    void run(SocketChannel channel) throws IOException;
  }

  private Thread accept(End end) {
    return run(
        server,
        () -> {
          try (ServerSocketChannel listener = server.sockets().openServerSocketChannel()) {
            listener.bind(new InetSocketAddress(server.address(), PORT));
            try (SocketChannel channel = listener.accept()) {
              end.run(channel);
            }
          }
        });
  }

  private Thread connect(End end) {
    return run(
        client,
        () -> {
          try (SocketChannel channel = client.sockets().openSocketChannel()) {
            channel.socket().connect(new InetSocketAddress(server.address(), PORT), 5000);
            end.run(channel);
          }
        });
  }

  @FunctionalInterface
  private interface Work {
    void run() throws IOException;
  }

  private Thread run(SimulatedProcess process, Work work) {
    return process.start(
        process.name(),
        () -> {
          try {
            work.run();
            ends.add(process.name() + " ended");
          } catch (IOException e) {
            ends.add(process.name() + ": " + e.getMessage());
          }
        });
  }

  private void readAll(SocketChannel channel) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(777);
    while (channel.read(buffer.clear()) >= 0) {
      received.write(buffer.array(), 0, buffer.position());
    }
  }

  private static byte[] bytes(int n) {
    byte[] bytes = new byte[n];
    new Random(1).nextBytes(bytes);
    return bytes;
  }

  @Test
  void bytesArriveInOrderAndWholeThenTheEnd() {
    byte[] sent = bytes(1_000_000);
    Thread reader = accept(this::readAll);
    Thread writer = connect(channel -> channel.write(ByteBuffer.wrap(sent)));
    simulation.runUntil(() -> !reader.isAlive() && !writer.isAlive(), LIMIT);
    assertArrayEquals(sent, received.toByteArray());
    assertEquals(0, server.openSockets() + client.openSockets());
  }

  @Test
  void aSelectorSeesBytesAndTheEnd() {
    byte[] sent = bytes(100_000);
    Thread reader =
        accept(
            channel -> {
              channel.configureBlocking(false);
              try (Selector selector = server.sockets().openSelector()) {
                channel.register(selector, SelectionKey.OP_READ);
                ByteBuffer buffer = ByteBuffer.allocate(5000);
                int n = 0;
                while (n >= 0) {
                  assertEquals(1, selector.select(60_000));
                  selector.selectedKeys().clear();
                  n = channel.read(buffer.clear());
                  received.write(buffer.array(), 0, buffer.position());
                }
              }
            });
    connect(channel -> channel.write(ByteBuffer.wrap(sent)));
    simulation.runUntil(() -> !reader.isAlive(), LIMIT);
    assertArrayEquals(sent, received.toByteArray());
    assertEquals(0, server.openSelectors());
  }

  @Test
  void aCutHoldsBackWhatIsSentUntilItHeals() {
    long start = simulation.now();
    Thread reader = accept(this::readAll);
    connect(
        channel -> {
          simulation.network().cutOneWay(client.address(), server.address());
          channel.write(ByteBuffer.wrap(new byte[] {1, 2, 3}));
        });
    simulation.after(Duration.ofSeconds(9), simulation.network()::heal);
    simulation.runUntil(() -> !reader.isAlive(), LIMIT);
    assertArrayEquals(new byte[] {1, 2, 3}, received.toByteArray());
    assertTrue(simulation.now() - start > Duration.ofSeconds(9).toNanos());
  }

  @Test
  void aConnectFailsByItsLimitAcrossACutAndAtOnceWithoutAListener() {
    simulation.network().cut(client.address(), server.address());
    long start = simulation.now();
    Thread late = connect(channel -> {});
    simulation.runUntil(() -> !late.isAlive(), LIMIT);
    assertEquals(Duration.ofSeconds(5).toNanos(), simulation.now() - start);
    simulation.network().heal();
    Thread refused = connect(channel -> {});
    simulation.runUntil(() -> !refused.isAlive(), LIMIT);
    assertEquals(List.of("client: Connect timed out", "client: Connection refused"), ends);
    assertEquals(0, client.openSockets());
  }

  @Test
  void aKilledProcessClosesItsConnectionsAndACrashedHostDoesNot() {
    Thread reader = accept(this::readAll);
    connect(channel -> channel.read(ByteBuffer.allocate(1)));
    simulation.after(Duration.ofSeconds(1), client::kill);
    simulation.runUntil(() -> !reader.isAlive(), LIMIT);
    assertEquals(List.of("server ended"), ends);

    SimulatedProcess other = simulation.process("other");
    Thread waits = accept(this::readAll);
    run(
        other,
        () -> {
          SocketChannel channel = other.sockets().openSocketChannel();
          channel.connect(new InetSocketAddress(server.address(), PORT));
          channel.read(ByteBuffer.allocate(1));
        });
    simulation.after(Duration.ofSeconds(1), other::crash);
    boolean[] over = new boolean[1];
    simulation.after(Duration.ofMinutes(5), () -> over[0] = true);
    simulation.runUntil(() -> over[0], LIMIT);
    assertTrue(waits.isAlive());
  }

  @Test
  void aResetBreaksBothEnds() {
    Thread reader = accept(this::readAll);
    Thread other = connect(this::readAll);
    simulation.after(
        Duration.ofSeconds(1),
        () -> simulation.network().reset(client.address(), server.address()));
    simulation.runUntil(() -> !reader.isAlive() && !other.isAlive(), LIMIT);
    ends.sort(null);
    assertEquals(
        List.of("client: Connection reset by peer", "server: Connection reset by peer"), ends);
  }
}
