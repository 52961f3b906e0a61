package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.ops.StandardOps;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Who can reach a server, and what it says when that is more than this machine. */
class OpennessTest {
  private static InetSocketAddress listen(String address) {
    return Server.listenAddress(new TaskId("ps", 0), address);
  }

  @Test
  void loopbackNamesStayOnLoopback() {
    for (String host : List.of("localhost", "127.0.0.1", "127.0.0.2")) {
      assertTrue(listen(host + ":2222").getAddress().isLoopbackAddress(), host);
    }
  }

  // README claim: open-loopback
  @Test
  void anyOtherAddressMeansAllInterfacesAndAWarning() {
    // Documentation addresses, which nobody has: nothing listens here.
    InetAddress all = listen("192.0.2.1:2222").getAddress();
    assertTrue(all.isAnyLocalAddress());
    assertFalse(all.isLoopbackAddress());
    String said = Server.openness(new TaskId("ps", 0), 2222);
    for (String part :
        List.of("ps/0", "port 2222 of all network interfaces", "firewall", "loopback address")) {
      assertTrue(said.contains(part), said);
    }
  }

  // README claim: open-loopback
  @Test
  void aServerNamedByLoopbackListensThereOnly() {
    ClusterSpec spec = ClusterSpec.of(Map.of("ps", List.of("127.0.0.1:0")));
    try (Server server = Server.start(spec, new TaskId("ps", 0), StandardOps.registry())) {
      int port = Integer.parseInt(server.target().substring("grpc://127.0.0.1:".length()));
      // Another address of the same interface is refused, so all others are.
      assertThrows(ConnectException.class, () -> new Socket("127.0.0.2", port).close());
    }
  }
}
