package dev.millrace.cli.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.context.Context;
import dev.millrace.cli.RunningMillrace;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.cluster.transport.StatusClient;
import dev.millrace.net.Credential;
import dev.millrace.net.JobAuthority;
import dev.millrace.testkit.Slow;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A running job as strangers see it: every socket on which one of its processes listens is found in
 * {@code /proc} and tried.
 */
@Slow
@Timeout(180)
class StrangersTest {
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  @TempDir Path folder;

  private RunningMillrace start() throws IOException {
    List<String> args =
        new ArrayList<>(List.of("run", "--mode", "async", "--workers", "2", "--show-all"));
    args.addAll(List.of("--logs", folder.resolve("logs").toString()));
    args.addAll(List.of("--", "-cp", System.getProperty("java.class.path")));
    args.addAll(List.of(SlopeProgram.class.getName(), "--steps", "1000000000"));
    args.addAll(List.of("--log-dir", folder.resolve("model").toString()));
    return RunningMillrace.start(
        Map.of("TEST_FOLDER", folder.toString()), args.toArray(String[]::new));
  }

  private long process(String task) throws IOException {
    Path pids = folder.resolve(task.replace('/', '_') + ".pids");
    return Long.parseLong(Files.readAllLines(pids).getLast());
  }

  /** The sockets of a process, by the kernel's numbers. */
  private static Set<String> sockets(long pid) throws IOException {
    Set<String> inodes = new HashSet<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(Path.of("/proc/" + pid + "/fd"))) {
      for (Path f : files) {
        try {
          String target = Files.readSymbolicLink(f).toString();
          if (target.startsWith("socket:[")) {
            inodes.add(target.substring("socket:[".length(), target.length() - 1));
          }
        } catch (IOException closed) {
          // Meanwhile.
        }
      }
    }
    return inodes;
  }

  /** The TCP ports on which a process listens. */
  private static List<Integer> ports(long pid) throws IOException {
    Set<String> own = sockets(pid);
    List<Integer> ports = new ArrayList<>();
    for (String table : List.of("tcp", "tcp6")) {
      for (String line : Files.readAllLines(Path.of("/proc/" + pid + "/net/" + table))) {
        String[] words = line.strip().split("\\s+");
        if (words.length > 9 && words[3].equals("0A") && own.contains(words[9])) {
          ports.add(Integer.parseInt(words[1].substring(words[1].lastIndexOf(':') + 1), 16));
        }
      }
    }
    return ports;
  }

  /** The Unix sockets on which a process listens. */
  private static List<Path> unixSockets(long pid) throws IOException {
    Set<String> own = sockets(pid);
    List<Path> paths = new ArrayList<>();
    for (String line : Files.readAllLines(Path.of("/proc/" + pid + "/net/unix"))) {
      String[] words = line.strip().split("\\s+");
      if (words.length > 7 && words[3].equals("00010000") && own.contains(words[6])) {
        paths.add(Path.of(words[7]));
      }
    }
    return paths;
  }

  /** What a stranger gets for an answer; it does not use what processes of one user may. */
  private static MillraceException refusal(TaskId task, int port, Credential credential)
      throws Exception {
    Config c = Config.defaults().with(ClusterSettings.LINK_WITHIN_HOST, false);
    if (credential != null) {
      c = c.with(ClusterSettings.CREDENTIALS, credential.toText());
    }
    try (Context stranger = Context.of("stranger", c)) {
      return stranger.call(
          () -> {
            try (StatusClient client =
                new StatusClient(task, "127.0.0.1:" + port, Thread::startVirtualThread)) {
              ExecutionException e =
                  assertThrows(
                      ExecutionException.class,
                      () -> client.status(PATIENCE).get(60, TimeUnit.SECONDS));
              return MillraceException.of(e);
            }
          });
    }
  }

  // README claim: open-job
  @Test
  void everySocketOfAJobRefusesStrangers() throws Exception {
    assumeTrue(Files.isDirectory(Path.of("/proc/self/fd")), "needs Linux");
    JobAuthority other = JobAuthority.create(Duration.ofDays(1));
    try (RunningMillrace launcher = start()) {
      launcher.awaitOutput("made 20 steps in worker/0");
      launcher.awaitOutput("made 20 steps in worker/1");
      for (TaskId task :
          List.of(new TaskId("ps", 0), new TaskId("worker", 0), new TaskId("worker", 1))) {
        long pid = process(task.toString());
        List<Integer> ports = ports(pid);
        assertEquals(1, ports.size(), task + " listens on " + ports);
        for (Credential c :
            new Credential[] {
              null,
              other.issue(JobAuthority.CLIENT),
              other.issue("ps/0"),
              other.issue("worker/0", Duration.ofMinutes(-10))
            }) {
          MillraceException e = refusal(task, ports.getFirst(), c);
          assertEquals(Code.UNAUTHENTICATED, e.code(), task + ": " + e.getMessage());
        }
        List<Path> unix = unixSockets(pid);
        assertTrue(unix.size() <= 1, unix::toString);
        for (Path socket : unix) {
          otherUsersCannotReach(socket);
        }
        environmentIsPrivate(pid);
      }
      assertTrue(launcher.process().isAlive());
      launcher.process().toHandle().destroy();
      // Stopped by this test, and by no stranger before.
      assertEquals(143, launcher.awaitExit(), launcher.err());
    }
  }

  private static void otherUsersCannotReach(Path socket) throws Exception {
    Path open = socket.getParent().getParent();
    assertEquals(
        "rwx------",
        java.nio.file.attribute.PosixFilePermissions.toString(Files.getPosixFilePermissions(open)));
    if (System.getProperty("user.name").equals("root") && hasSetpriv()) {
      assertNotEquals(0, asNobody("test", "-S", socket.toString()));
    }
  }

  /** Credentials travel in the environment of processes, which other users cannot read. */
  private static void environmentIsPrivate(long pid) throws Exception {
    Path environment = Path.of("/proc/" + pid + "/environ");
    assertTrue(Files.readString(environment).contains("MILLRACE_CREDENTIALS=pem:"));
    assertTrue(
        !Files.readString(Path.of("/proc/" + pid + "/cmdline")).contains("pem:"), "command line");
    if (System.getProperty("user.name").equals("root") && hasSetpriv()) {
      assertNotEquals(0, asNobody("cat", environment.toString()));
    }
  }

  private static boolean hasSetpriv() {
    return Files.isExecutable(Path.of("/usr/bin/setpriv"));
  }

  private static int asNobody(String... command) throws Exception {
    List<String> line =
        new ArrayList<>(List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"));
    line.addAll(List.of(command));
    Process p =
        new ProcessBuilder(line)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    assertTrue(p.waitFor(20, TimeUnit.SECONDS));
    return p.exitValue();
  }
}
