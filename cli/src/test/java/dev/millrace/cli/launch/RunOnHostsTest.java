package dev.millrace.cli.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.jr.ob.JSON;
import dev.millrace.cli.RunningMillrace;
import dev.millrace.job.JobResult;
import dev.millrace.testkit.Slow;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * {@code millrace run} on two hosts: network namespaces with a cable between them. What stands for
 * ssh enters the other namespace. Needs root and {@code ip}.
 */
@Slow
@Timeout(180)
class RunOnHostsTest {
  private static final String HERE = "10.77.1.1";
  private static final String THERE = "10.77.1.2";

  private final String here = "mr" + ProcessHandle.current().pid() + "a";
  private final String there = "mr" + ProcessHandle.current().pid() + "b";

  @TempDir Path folder;

  private static boolean ip(String... args) throws Exception {
    List<String> command = new ArrayList<>(List.of("ip"));
    command.addAll(List.of(args));
    try {
      Process p =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      return p.waitFor(20, TimeUnit.SECONDS) && p.exitValue() == 0;
    } catch (IOException e) {
      return false; // There is no such command.
    }
  }

  @BeforeEach
  void connectTwoHosts() throws Exception {
    assumeTrue(ip("netns", "add", here), "network namespaces cannot be made here");
    assertTrue(ip("netns", "add", there));
    assertTrue(
        ip("link", "add", "va", "netns", here, "type", "veth", "peer", "vb", "netns", there));
    assertTrue(ip("-n", here, "addr", "add", HERE + "/24", "dev", "va"));
    assertTrue(ip("-n", there, "addr", "add", THERE + "/24", "dev", "vb"));
    for (String[] device :
        new String[][] {{here, "lo"}, {here, "va"}, {there, "lo"}, {there, "vb"}}) {
      assertTrue(ip("-n", device[0], "link", "set", device[1], "up"));
    }
  }

  @AfterEach
  void disconnect() throws Exception {
    ip("netns", "del", here);
    ip("netns", "del", there);
  }

  @ParameterizedTest
  @CsvSource({"async, 2", "ring, 1"})
  void aProgramTrainsOnTwoHosts(String mode, int slots) throws Exception {
    Files.createFile(folder.resolve("go"));
    Path ssh = folder.resolve("ssh");
    Files.writeString(
        ssh,
        "#!/bin/sh\n[ \"$1\" = "
            + THERE
            + " ] || exit 255\nshift\nexec ip netns exec "
            + there
            + " sh -c \"$*\"\n");
    assertTrue(ssh.toFile().setExecutable(true));
    Path logs = folder.resolve("logs");
    List<String> command = new ArrayList<>(List.of("ip", "netns", "exec", here));
    command.add(RunningMillrace.sourceTree().resolve("millrace").toString());
    command.addAll(List.of("run", "--mode", mode, "--ssh", ssh.toString()));
    command.addAll(List.of("--hosts", HERE + ":" + slots + "," + THERE + ":1"));
    command.addAll(List.of("--logs", logs.toString(), "-x", "TEST_FOLDER=" + folder));
    command.addAll(List.of("--", "-cp", RunningMillrace.classPath(), SlopeProgram.class.getName()));
    command.addAll(List.of("--epochs", "2", "--log-dir", folder.resolve("model").toString()));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().put("MILLRACE_CLASS_PATH", RunningMillrace.classPath());
    builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
    Path said = folder.resolve("said");
    Process run = builder.redirectOutput(said.toFile()).start();
    try {
      assertTrue(run.waitFor(150, TimeUnit.SECONDS), "not ended after 150 s");
    } finally {
      run.destroy();
    }
    assertEquals(0, run.exitValue(), Files.readString(said));
    Map<String, Object> result =
        JSON.std.mapFrom(Files.readString(folder.resolve("model").resolve(JobResult.FILE)));
    assertEquals("ok", result.get("outcome"));
    assertEquals(mode.equals("ring") ? 20 : 40, result.get("step"));
    // Each worker trained on its own host.
    String other = mode.equals("ring") ? "rank_1.log" : "worker_1.log";
    assertTrue(Files.readString(logs.resolve(other)).contains("start 1 of"), other);
  }
}
