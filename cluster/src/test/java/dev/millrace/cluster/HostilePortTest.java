package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.runtime.Session;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
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

  @Test
  void garbageClosesTheConnectionAndNothingElse() throws IOException {
    try (Server server = Server.createLocalServer(StandardOps.registry())) {
      int port = Integer.parseInt(server.target().substring(server.target().lastIndexOf(':') + 1));
      Graph g = StandardOps.newGraph();
      Output y = Scope.of(g).node("Square").input(Const.of(Scope.of(g), 3f)).add().output();
      try (Session session =
          new ClusterSession(g, server.target().replace("localhost", "127.0.0.1"))) {
        assertEquals(9f, session.fetch(y).floatValue());
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
        assertEquals(9f, session.fetch(y).floatValue());
      }
      assertEquals(0, server.worker().sessionCount());
    }
  }
}
