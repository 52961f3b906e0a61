package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.config.RankSettings;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.cluster.transport.TaskAdmission;
import dev.millrace.net.JobAuthority;
import dev.millrace.ops.StandardOps;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Who can reach a server, and what it says when that is more than this machine. */
class OpennessTest {
  private static final TaskId PS = new TaskId("ps", 0);
  private static final Config NOTHING = Config.defaults();

  private static InetSocketAddress listen(Config settings, String address) {
    return TaskAdmission.listenAddress(settings, PS, address);
  }

  @Test
  void loopbackNamesStayOnLoopback() {
    for (String host : List.of("localhost", "127.0.0.1", "127.0.0.2")) {
      InetSocketAddress where = listen(NOTHING, host + ":2222");
      assertTrue(where.getAddress().isLoopbackAddress(), host);
      assertFalse(TaskAdmission.of(NOTHING, PS, where).closed());
    }
  }

  /** An address for documentation, which nobody has: nothing listens here. */
  private static final String ELSEWHERE = "192.0.2.1:2222";

  // README claim: open-loopback
  @Test
  void aServerForOtherHostsNeedsACredential() {
    InetSocketAddress where = listen(NOTHING, ELSEWHERE);
    assertFalse(where.getAddress().isAnyLocalAddress());
    String said =
        assertThrows(MillraceException.class, () -> TaskAdmission.of(NOTHING, PS, where))
            .getMessage();
    for (String part :
        List.of(
            "ps/0", "192.0.2.1:2222", "millrace credentials new", "--credentials", "--insecure")) {
      assertTrue(said.contains(part), said);
    }
    Config withOne =
        NOTHING.with(
            ClusterSettings.CREDENTIALS,
            JobAuthority.create(Duration.ofDays(1)).issue("ps/0").toText());
    assertTrue(TaskAdmission.of(withOne, PS, where).closed());
  }

  @Test
  void allInterfacesAreForThoseWhoSaySo() {
    assertTrue(
        listen(NOTHING.with(RankSettings.BIND, "0.0.0.0"), ELSEWHERE)
            .getAddress()
            .isAnyLocalAddress());
  }

  @Test
  void anOpenServerSaysSo() throws Exception {
    InetSocketAddress where = listen(NOTHING, ELSEWHERE);
    Config insecure = NOTHING.with(ClusterSettings.INSECURE, true);
    assertFalse(TaskAdmission.of(insecure, PS, where).closed());
    String said = Server.openness(PS, InetAddress.getByName("0.0.0.0"), 2222);
    for (String part :
        List.of("ps/0", "port 2222 of all network interfaces", "--insecure", "--credentials")) {
      assertTrue(said.contains(part), said);
    }
  }

  @Test
  void authClosesLoopbackToo() {
    Config auth = NOTHING.with(ClusterSettings.AUTH, true);
    assertTrue(TaskAdmission.of(auth, PS, listen(NOTHING, "localhost:2222")).closed());
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
