package dev.millrace.cli.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cli.Ran;
import dev.millrace.cli.RunningCluster;
import dev.millrace.cluster.HeldPorts;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DoctorCommandTest {
  @TempDir Path dir;

  @Test
  void aGoodMachineIsHealthy() {
    String out = Ran.millrace("doctor", "--log-dir", dir.resolve("new").toString()).succeeded();
    assertTrue(out.contains("ok    java"), out);
    assertTrue(out.contains("is writable"), out);
    assertTrue(out.lines().noneMatch(l -> l.startsWith("BAD")), out);
  }

  @Test
  void aFolderThatIsAFileIsBad() throws IOException {
    Path file = Files.writeString(dir.resolve("file"), "");
    Ran r = Ran.millrace("doctor", "--log-dir", file.toString());
    assertEquals(1, r.code());
    assertTrue(r.out().contains("BAD   folder"), r.out());
  }

  // README claim: see-doctor
  @Test
  void aClusterThatRunsIsCheckedBothWays() {
    try (RunningCluster cluster = new RunningCluster().start("ps").start("worker")) {
      String out = cluster.ran("doctor").succeeded();
      assertTrue(out.contains("ok    ps/0          runs at " + cluster.address("ps")), out);
      assertTrue(out.contains("ok    from ps/0     reaches all 2 tasks, the same ones"), out);
      assertTrue(out.contains("ok    from worker/0 reaches all 2 tasks, the same ones"), out);
      assertTrue(out.contains("ok    versions      2 tasks run Millrace "), out);
      assertTrue(out.contains("ok    clocks        of 2 tasks agree with this machine's"), out);
      // The same cluster with the addresses exchanged.
      Ran r =
          Ran.millrace(
              "doctor",
              "--ps_hosts",
              cluster.address("worker"),
              "--worker_hosts",
              cluster.address("ps"));
      assertEquals(1, r.code());
      assertTrue(r.out().contains("calls itself /job:worker/replica:0/task:0"), r.out());
    }
  }

  // README claim: see-doctor
  @Test
  void portsOfTasksNotStartedMustBeFree() throws IOException {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"));
        HeldPorts free = HeldPorts.take(1)) {
      Ran r =
          Ran.millrace(
              "doctor",
              "--timeout",
              "1",
              "--ps_hosts",
              "127.0.0.1:" + taken.getLocalPort(),
              "--worker_hosts",
              free.addresses().getFirst() + ",no-such-host.invalid:2222");
      assertEquals(1, r.code());
      assertTrue(
          r.out().matches("(?s).*BAD   ps/0 +port \\d+ of this machine is taken.*"), r.out());
      assertTrue(r.out().matches("(?s).*ok    worker/0 +not started; port.*"), r.out());
      assertTrue(r.out().matches("(?s).*BAD   worker/1 +no-such-host.invalid.*"), r.out());
    }
  }
}
