package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.runtime.Session;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Strangers on the port do no harm. */
class HostilePortTest {
  private static void send(int port, byte[] bytes) throws IOException {
    try (Socket s = new Socket(InetAddress.getLoopbackAddress(), port)) {
      s.setSoTimeout(5000);
      s.getOutputStream().write(bytes);
      s.getOutputStream().flush();
      s.shutdownOutput();
      InputStream in = s.getInputStream();
      // The server answers something or nothing, and closes.
      byte[] sink = new byte[4096];
      for (int n = in.read(sink); n >= 0; n = in.read(sink)) {
        assertTrue(n > 0);
      }
    } catch (java.net.SocketException e) {
      // Cut off: as good an answer as any.
    }
  }

  private static byte[] concatenated(byte[]... parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.writeBytes(part);
    }
    return all.toByteArray();
  }

  /** A frame of HTTP/2. */
  private static byte[] frame(int type, int flags, int stream, byte[] payload) {
    ByteBuffer b = ByteBuffer.allocate(9 + payload.length);
    b.put((byte) (payload.length >> 16)).putShort((short) payload.length);
    return b.put((byte) type).put((byte) flags).putInt(stream).put(payload).array();
  }

  /** A header that is written out and not remembered. */
  private static byte[] header(String name, String value) {
    byte[] n = name.getBytes(StandardCharsets.US_ASCII);
    byte[] v = value.getBytes(StandardCharsets.US_ASCII);
    ByteBuffer b = ByteBuffer.allocate(3 + n.length + v.length);
    return b.put((byte) 0).put((byte) n.length).put(n).put((byte) v.length).put(v).array();
  }

  /** A call whose only message is {@code data}, whatever that is; it is not said to end. */
  private static byte[] request(byte[] preface, String path, byte[] data) {
    byte[] headers =
        concatenated(
            header(":method", "POST"),
            header(":scheme", "http"),
            header(":path", path),
            header(":authority", "localhost"),
            header("te", "trailers"),
            header("content-type", "application/grpc"));
    return concatenated(
        preface, frame(4, 0, 0, new byte[0]), frame(1, 4, 1, headers), frame(0, 0, 1, data));
  }

  @Test
  void garbageClosesTheConnectionAndNothingElse() throws Exception {
    try (Server server = Server.createLocalServer(StandardOps.registry())) {
      int port = Integer.parseInt(server.target().substring(server.target().lastIndexOf(':') + 1));
      Graph g = StandardOps.newGraph();
      Output y = Scope.of(g).node("Square").input(Const.of(Scope.of(g), 3f)).add().output();
      try (Session session =
          new ClusterSession(g, server.target().replace("localhost", "127.0.0.1"))) {
        assertEquals(9f, session.fetch(y).floatValue());
        LeftBehind before = LeftBehind.now();
        Random random = new Random(5);
        for (int i = 0; i < 50; i++) {
          byte[] garbage = new byte[random.nextInt(2000)];
          random.nextBytes(garbage);
          send(port, garbage);
        }
        send(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        // A correct greeting followed by nonsense.
        byte[] preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
        byte[] both = java.util.Arrays.copyOf(preface, preface.length + 500);
        send(port, both);
        byte[] claim = {0, 0x7F, (byte) 0xFF, (byte) 0xFF, (byte) 0xFF, 1, 2, 3};
        for (String method :
            List.of(
                "MasterService/RunStep", "WorkerService/RunGraph", "WorkerService/RecvTensor")) {
          // A message of 2 GiB of which a few bytes come, and one that is cut off in its length.
          send(port, request(preface, "/tensorflow." + method, claim));
          send(port, request(preface, "/tensorflow." + method, new byte[] {0, 0}));
        }
        // Frames longer than was agreed on.
        send(
            port,
            concatenated(preface, frame(4, 0, 0, new byte[0]), frame(0, 0, 1, new byte[1 << 20])));
        assertEquals(9f, session.fetch(y).floatValue());
        before.awaitNoMore();
      }
      assertEquals(0, server.worker().sessionCount());
      assertEquals(0, server.worker().stepCount());
    }
  }
}
