package dev.millrace.collective.member;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class AcceptorTest {
  private static final Handshake.Hello HELLO = new Handshake.Hello(Handshake.Purpose.DATA, 3, 4);

  private final Token token = Token.random();
  private final LinkedBlockingQueue<Handshake.Hello> guests = new LinkedBlockingQueue<>();
  private final List<SocketChannel> callers = new ArrayList<>();
  private Acceptor door;

  @BeforeEach
  void open() throws IOException {
    ServerSocketChannel listener = ServerSocketChannel.open();
    listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    door = Acceptor.open(listener, token, Platform.system(), (hello, channel) -> guests.add(hello));
  }

  @AfterEach
  void close() throws IOException {
    door.close();
    for (SocketChannel c : callers) {
      c.close();
    }
  }

  private SocketChannel knock() throws IOException {
    SocketChannel c = SocketChannel.open(door.address());
    callers.add(c);
    return c;
  }

  private static long soon() {
    return System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
  }

  @Test
  void whoKnowsTheTokenComesIn() throws Exception {
    Handshake.call(knock(), token, HELLO, Platform.system(), soon());
    assertEquals(HELLO, guests.poll(10, TimeUnit.SECONDS));
  }

  // README claim: open-token
  @Test
  void whoDoesNotIsToldSo() throws Exception {
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () -> Handshake.call(knock(), Token.random(), HELLO, Platform.system(), soon()));
    assertEquals(Code.UNAUTHENTICATED, e.code());
    assertTrue(guests.isEmpty());
  }

  @Test
  void strangersGarbageAndSilenceHarmNobody() throws Exception {
    Random random = new Random(5);
    for (int i = 0; i < 50; i++) {
      byte[] garbage = new byte[random.nextInt(500)];
      random.nextBytes(garbage);
      SocketChannel c = knock();
      try {
        c.write(ByteBuffer.wrap(garbage));
        c.write(ByteBuffer.wrap("GET / HTTP/1.1\r\n\r\n".getBytes()));
      } catch (IOException e) {
        // Turned away already.
      }
    }
    Handshake.call(knock(), token, HELLO, Platform.system(), soon());
    assertEquals(HELLO, guests.poll(10, TimeUnit.SECONDS));
    assertNull(guests.poll());
  }

  // README claim: open-token
  @Test
  void aProofCannotBeUsedAgain() throws Exception {
    // Records what a true caller sends and plays it back on a new connection.
    ServerSocketChannel between = ServerSocketChannel.open();
    between.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    SocketChannel caller = SocketChannel.open(between.getLocalAddress());
    callers.add(caller);
    SocketChannel tapped = between.accept();
    callers.add(tapped);
    SocketChannel host = knock();
    tapped.write(read(host, 21));
    Thread call = Thread.startVirtualThread(() -> quietCall(caller));
    ByteBuffer proof = read(tapped, 21 + 9 + 32);
    host.write(proof.duplicate());
    tapped.write(read(host, 32));
    call.join(10_000);
    assertEquals(HELLO, guests.poll(10, TimeUnit.SECONDS));
    SocketChannel again = knock();
    read(again, 21);
    again.write(proof.duplicate());
    assertArrayEquals(new byte[32], read(again, 32).array(), "the door must refuse");
    assertTrue(again.read(ByteBuffer.allocate(1)) < 0, "the door must close");
    assertTrue(guests.isEmpty());
    between.close();
  }

  private void quietCall(SocketChannel caller) {
    try {
      Handshake.call(caller, token, HELLO, Platform.system(), soon());
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static ByteBuffer read(SocketChannel channel, int bytes) throws IOException {
    ByteBuffer b = ByteBuffer.allocate(bytes);
    while (b.hasRemaining()) {
      assertTrue(channel.read(b) >= 0);
    }
    return b.flip();
  }
}
