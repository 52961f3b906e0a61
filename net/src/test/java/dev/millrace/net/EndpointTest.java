package dev.millrace.net;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Platform;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EndpointTest {
  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final JobAuthority JOB = JobAuthority.create(Duration.ofDays(1));

  /** Answers each message, a length of 4 bytes and its content, with who sent it. */
  private static final class Echo implements Endpoint.Protocol {
    final CompletableFuture<PeerIdentity> served = new CompletableFuture<>();
    final AtomicInteger count = new AtomicInteger();

    int servedCount() {
      return count.get();
    }

    @Override
    public void serve(Connection c) throws IOException {
      count.incrementAndGet();
      served.complete(c.peer());
      c.settle();
      byte[] message = receive(c);
      send(c, message);
      c.close();
    }

    @Override
    public void refuse(Connection c, String why) throws IOException {
      send(c, why.getBytes(StandardCharsets.UTF_8));
    }
  }

  private final Echo echo = new Echo();

  private static void send(ByteChannel c, byte[] message) throws IOException {
    ByteBuffer b = ByteBuffer.allocateDirect(4 + message.length);
    b.put((byte) 'M').put((byte) (message.length >> 16));
    b.putShort((short) message.length).put(message).flip();
    while (b.hasRemaining()) {
      c.write(b);
    }
  }

  private static byte[] receive(ByteChannel c) throws IOException {
    ByteBuffer head = ByteBuffer.allocate(4);
    fill(c, head);
    head.flip();
    assertEquals('M', head.get());
    int n = (head.get() & 0xFF) << 16 | head.getShort() & 0xFFFF;
    ByteBuffer b = ByteBuffer.allocateDirect(n);
    fill(c, b);
    byte[] all = new byte[n];
    b.flip().get(all);
    return all;
  }

  private static void fill(ByteChannel c, ByteBuffer b) throws IOException {
    while (b.hasRemaining()) {
      if (c.read(b) < 0) {
        throw new EOFException();
      }
    }
  }

  private Endpoint endpoint(Credential credential, boolean closed, Path folder) {
    Endpoint e =
        new Endpoint(
            new Endpoint.Config(
                "ps/0",
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                folder == null ? null : folder.resolve("socket"),
                folder,
                new Admission(credential, closed),
                LIMIT),
            Platform.system());
    e.serve((byte) 'M', echo);
    e.start();
    return e;
  }

  private static Dialer dialer(Credential credential, Path folder) {
    return new Dialer(Platform.system(), credential, folder, LIMIT, LIMIT);
  }

  private static InetSocketAddress address(Endpoint e) {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), e.port());
  }

  @Test
  void bytesCrossUnchangedInBothDirections() throws Exception {
    Random random = new Random(7);
    int[] sizes = {0, 1, 100, 16_383, 16_384, 16_385, 40_000, 1_000_000, 5_000_000};
    for (Credential server : new Credential[] {null, JOB.issue("ps/0")}) {
      for (int size : sizes) {
        byte[] message = new byte[size];
        random.nextBytes(message);
        try (Endpoint e = endpoint(server, false, null);
            Dialer c = dialer(server == null ? null : JOB.issue("worker/1"), null);
            Connection to = c.connect(address(e))) {
          assertEquals(server != null, to.isEncrypted());
          CompletableFuture<byte[]> answer =
              CompletableFuture.supplyAsync(
                  () -> {
                    try {
                      return receive(to);
                    } catch (IOException x) {
                      throw new java.io.UncheckedIOException(x);
                    }
                  });
          send(to, message);
          assertArrayEquals(message, answer.get(20, TimeUnit.SECONDS));
        }
      }
    }
  }

  @Test
  void bothEndsKnowEachOther() throws Exception {
    try (Endpoint e = endpoint(JOB.issue("ps/0"), true, null);
        Dialer c = dialer(JOB.issue("worker/1"), null);
        Connection to = c.connect(address(e))) {
      assertTrue(to.peer().maySpeakFor("ps/0", null));
      assertFalse(to.peer().maySpeakFor("ps/1", null));
      send(to, new byte[1]);
      PeerIdentity peer = echo.served.get(20, TimeUnit.SECONDS);
      assertTrue(peer.isAuthenticated());
      assertTrue(peer.maySpeakFor("worker/1", null));
      assertFalse(peer.maySpeakFor("worker/11", null));
      assertFalse(peer.maySpeakFor("ps/0", null));
    }
  }

  /** The first answer or the failure of a connection that must not be served. */
  private void refused(Endpoint e, Credential stranger) {
    assertThrows(
        Exception.class,
        () -> {
          try (Dialer c = dialer(stranger, null);
              Connection to = c.connect(address(e))) {
            send(to, new byte[1]);
            receive(to);
          }
        });
    assertFalse(echo.served.isDone());
  }

  @Test
  void anotherJobsCredentialIsRefused() {
    try (Endpoint e = endpoint(JOB.issue("ps/0"), true, null)) {
      refused(e, JobAuthority.create(Duration.ofDays(1)).issue("ps/0"));
    }
  }

  @Test
  void anExpiredCredentialIsRefused() {
    try (Endpoint e = endpoint(JOB.issue("ps/0"), true, null)) {
      refused(e, JOB.issue("worker/0", Duration.ofMinutes(-30)));
    }
  }

  @Test
  void aServerOfAnotherJobIsNotTrusted() {
    JobAuthority other = JobAuthority.create(Duration.ofDays(1));
    try (Endpoint e = endpoint(other.issue("ps/0"), true, null)) {
      refused(e, JOB.issue("worker/0"));
    }
  }

  @Test
  void aStrangerIsToldWhatItNeeds() throws Exception {
    try (Endpoint e = endpoint(JOB.issue("ps/0"), true, null);
        Dialer c = dialer(null, null);
        Connection to = c.connect(address(e))) {
      send(to, new byte[1]);
      String why = new String(receive(to), StandardCharsets.UTF_8);
      assertTrue(why.contains("--credentials") && why.contains(JOB.job()), why);
      assertFalse(echo.served.isDone());
    }
  }

  @Test
  void theSameUserNeedsNoCredentialWithinTheHost(@TempDir Path folder) throws Exception {
    try (Endpoint e = endpoint(null, true, folder);
        Dialer c = dialer(null, folder);
        Connection to = c.connect("localhost:" + e.port())) {
      assertTrue(to.isLocal());
      send(to, new byte[3]);
      assertEquals(3, receive(to).length);
      assertTrue(echo.served.get(20, TimeUnit.SECONDS).maySpeakFor("ps/0", null));
    }
  }

  @Test
  void aClosedProcessIsNoLongerFound(@TempDir Path folder) throws Exception {
    int port;
    try (Endpoint e = endpoint(null, true, folder)) {
      port = e.port();
    }
    try (Dialer c = dialer(null, folder)) {
      assertFalse(c.isLocal("localhost:" + port));
    }
  }

  /** Sends a recorded connection once more: what served it the first time must not again. */
  @Test
  void aReplayedConnectionIsRefused() throws Exception {
    ByteArrayOutputStream recorded = new ByteArrayOutputStream();
    try (Endpoint e = endpoint(JOB.issue("ps/0"), true, null)) {
      try (ServerSocketChannel tap =
              ServerSocketChannel.open()
                  .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
          Dialer c = dialer(JOB.issue("worker/0"), null)) {
        Thread middle = Thread.ofVirtual().unstarted(() -> forward(tap, address(e), recorded));
        middle.start();
        try (Connection to = c.connect((InetSocketAddress) tap.getLocalAddress())) {
          send(to, new byte[1]);
          assertEquals(1, receive(to).length);
        }
      }
      assertTrue(echo.served.isDone());
      try (SocketChannel again = SocketChannel.open(address(e))) {
        again.write(ByteBuffer.wrap(recorded.toByteArray()));
        ByteArrayOutputStream answer = new ByteArrayOutputStream();
        ByteBuffer b = ByteBuffer.allocate(1 << 16);
        while (again.read(b.clear()) >= 0) {
          answer.write(b.array(), 0, b.position());
        }
        // The server's handshake, and then an alert in place of an answer.
        assertTrue(recorded.size() > 500);
        assertFalse(answer.toByteArray().length == 0);
      } catch (IOException reset) {
        // As good: the endpoint closed the connection with bytes unread.
      }
      assertEquals(1, echo.servedCount());
    }
  }

  /** What is sent, who sends it and for which job: none of it can be read on the way. */
  @Test
  void aWiretapReadsNothing() throws Exception {
    byte[] secret = "the weights of the model".repeat(100).getBytes(StandardCharsets.UTF_8);
    ByteArrayOutputStream there = new ByteArrayOutputStream();
    ByteArrayOutputStream back = new ByteArrayOutputStream();
    try (Endpoint e = endpoint(JOB.issue("ps/0"), true, null);
        ServerSocketChannel tap =
            ServerSocketChannel.open()
                .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        Dialer c = dialer(JOB.issue("worker/0"), null)) {
      Thread middle = Thread.ofVirtual().unstarted(() -> forward(tap, address(e), there, back));
      middle.start();
      try (Connection to = c.connect((InetSocketAddress) tap.getLocalAddress())) {
        send(to, secret);
        assertArrayEquals(secret, receive(to));
      }
      middle.join(20_000);
    }
    for (ByteArrayOutputStream tapped : List.of(there, back)) {
      assertTrue(tapped.size() > secret.length);
      String seen = tapped.toString(StandardCharsets.ISO_8859_1);
      for (String word : List.of("weights", "worker/0", "ps/0", "spiffe", JOB.job())) {
        assertFalse(seen.contains(word), word);
      }
    }
  }

  private static void forward(
      ServerSocketChannel from, InetSocketAddress to, ByteArrayOutputStream recorded) {
    forward(from, to, recorded, null);
  }

  private static void forward(
      ServerSocketChannel from,
      InetSocketAddress to,
      ByteArrayOutputStream recorded,
      ByteArrayOutputStream answers) {
    try (SocketChannel in = from.accept();
        SocketChannel out = SocketChannel.open(to)) {
      Thread back = Thread.ofVirtual().start(() -> copy(out, in, answers));
      copy(in, out, recorded);
      back.join(20_000);
    } catch (IOException | InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void copy(SocketChannel in, SocketChannel out, ByteArrayOutputStream recorded) {
    ByteBuffer b = ByteBuffer.allocate(1 << 16);
    try {
      while (in.read(b.clear()) >= 0) {
        if (recorded != null) {
          recorded.write(b.array(), 0, b.position());
        }
        b.flip();
        while (b.hasRemaining()) {
          out.write(b);
        }
      }
      out.shutdownOutput();
    } catch (IOException e) {
      // The other side has closed.
    }
  }

  @Test
  void aTakenPortIsNamed() {
    try (Endpoint e = endpoint(null, false, null)) {
      String message =
          assertThrows(
                  dev.millrace.base.MillraceException.class,
                  () ->
                      new Endpoint(
                          new Endpoint.Config(
                              "ps/1", address(e), null, null, Admission.OPEN, LIMIT),
                          Platform.system()))
              .getMessage();
      assertTrue(message.contains("ps/1 cannot listen on"), message);
      assertTrue(message.contains("already in use"), message);
    }
  }
}
