package dev.millrace.cli.launch;

import static java.nio.file.StandardWatchEventKinds.ENTRY_CREATE;
import static java.nio.file.StandardWatchEventKinds.ENTRY_MODIFY;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cli.LaunchedSum;
import dev.millrace.cli.Ran;
import dev.millrace.cli.RunningMillrace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

@Timeout(120)
@Execution(ExecutionMode.CONCURRENT)
class LaunchCommandTest {
  @TempDir Path folder;

  private static Ran launch(String... args) {
    return Ran.millrace(Stream.concat(Stream.of("launch"), Arrays.stream(args)).toList());
  }

  /** What the ranks printed, which comes in any order. */
  private static List<String> lines(Ran said) {
    return said.out().lines().sorted().toList();
  }

  private static List<String> java(Class<?> main) {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "--add-modules=jdk.incubator.vector",
        "--enable-native-access=ALL-UNNAMED",
        "-XX:+UseSerialGC",
        "-cp",
        System.getProperty("java.class.path"),
        main.getName());
  }

  @Test
  void everyLineCarriesItsRankAndEveryRankItsPlace() {
    String echo = "echo $MILLRACE_RANK/$MILLRACE_SIZE $MILLRACE_LOCAL_RANK/$MILLRACE_LOCAL_SIZE $A";
    Ran said =
        launch("-np", "3", "-H", "localhost:2,127.0.0.1:2", "-x", "A=b c", "--", "sh", "-c", echo);
    assertEquals(0, said.code(), said.toString());
    assertEquals(List.of("[0] 0/3 0/2 b c", "[1] 1/3 1/2 b c", "[2] 2/3 0/1 b c"), lines(said));
  }

  @Test
  void theFirstRankThatFailsEndsAllAndLendsItsCodeAndLastWord() throws Exception {
    String script =
        "echo $$ > "
            + folder
            + "/$MILLRACE_RANK; if [ $MILLRACE_RANK = 1 ]; then while [ ! -s "
            + folder
            + "/0 ] || [ ! -s "
            + folder
            + "/2 ]; do sleep 0.05; done; echo out of luck >&2; exit 7; fi; exec sleep 600";
    Ran said = launch("-np", "3", "--", "sh", "-c", script);
    assertEquals(7, said.code());
    String last = said.err().lines().reduce((x, y) -> y).orElseThrow();
    assertEquals("millrace: Rank 1 on localhost ended with code 7: out of luck", last);
    assertEnded("0");
    assertEnded("2");
  }

  @Test
  void ranksThatDoNotListenAreKilled() throws Exception {
    String script =
        "echo $$ > "
            + folder
            + "/$MILLRACE_RANK; if [ $MILLRACE_RANK = 1 ]; then while [ ! -s "
            + folder
            + "/0 ]; do sleep 0.05; done; exit 3; fi; trap '' TERM; while true; do sleep 1; done";
    Ran said = launch("-np", "2", "--", "sh", "-c", script);
    assertEquals(3, said.code());
    assertEnded("0");
  }

  /** Waits until a rank has written who it is. */
  private void awaitWritten(WatchService watch, String rank) throws Exception {
    Path file = folder.resolve(rank);
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!Files.exists(file) || Files.readString(file).isBlank()) {
      WatchKey key = watch.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
      assertNotNull(key, "rank " + rank + " has not started within 60 s");
      key.pollEvents();
      key.reset();
    }
  }

  private void assertEnded(String rank) throws Exception {
    long pid = Long.parseLong(Files.readString(folder.resolve(rank)).strip());
    ProcessHandle p = ProcessHandle.of(pid).orElse(null);
    if (p != null) {
      p.onExit().get(10, TimeUnit.SECONDS);
    }
    assertFalse(ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false));
  }

  /** Stands in for ssh: runs the command here, whatever the host. */
  private Path fakeSsh() throws IOException {
    Path ssh = folder.resolve("ssh");
    Files.writeString(ssh, "#!/bin/sh\necho \"called for $1\" >&2\nshift\neval \"exec $*\"\n");
    assertTrue(ssh.toFile().setExecutable(true));
    return ssh;
  }

  @Test
  void otherHostsGetCommandAndEnvironmentBySshButNoSecretInTheCommand() throws IOException {
    String script = "echo \"$MILLRACE_RANK $MILLRACE_HOST $A ${#MILLRACE_TOKEN} it's\"; exit 4";
    Ran said =
        launch(
            "-H",
            "far.invalid:1",
            "-x",
            "A=x  'y'",
            "--ssh",
            fakeSsh().toString(),
            "--",
            "sh",
            "-c",
            script);
    assertEquals(List.of("[0] 0 far.invalid x  'y' 32 it's"), lines(said));
    assertTrue(said.err().contains("[0] called for far.invalid"), said.err());
    assertEquals(4, said.code());
  }

  @Test
  void whatCannotBePassedOnIsSaidBeforeAnythingIsStarted() throws IOException {
    Path called = folder.resolve("called");
    Path ssh = Files.writeString(folder.resolve("ssh"), "#!/bin/sh\ntouch " + called + "\n");
    assertTrue(ssh.toFile().setExecutable(true));
    launch("-H", "far.invalid:1", "-x", "A=b\nc", "--ssh", ssh.toString(), "--", "true")
        .wasRefusedFor("Environment variable A has several lines");
    assertFalse(Files.exists(called));
  }

  @Test
  void aRemoteCommandEndsWithItsConnection() throws Exception {
    String script =
        "echo $$ > "
            + folder
            + "/$MILLRACE_RANK; if [ $MILLRACE_RANK = 1 ]; then while [ ! -s "
            + folder
            + "/0 ]; do sleep 0.05; done; exit 5; fi; exec sleep 600";
    Ran said =
        launch(
            "-H",
            "a.invalid:1,b.invalid:1",
            "--ssh",
            fakeSsh().toString(),
            "--",
            "sh",
            "-c",
            script);
    assertEquals(5, said.code());
    assertEnded("0");
  }

  @Test
  void launchedRanksFormARing() {
    List<String> args = new ArrayList<>(List.of("-np", "3", "-H", "localhost:2,127.0.0.1:1"));
    // A busy machine may keep a rank from showing that it lives.
    args.addAll(List.of("-x", "MILLRACE_LIVENESS_TIMEOUT=40", "--"));
    args.addAll(java(LaunchedSum.class));
    Ran said = launch(args.toArray(String[]::new));
    assertEquals(0, said.code(), said.toString());
    assertEquals(
        List.of(
            "[0] sum 7 rank 0/3 local 0/2 cross 0/2",
            "[1] sum 7 rank 1/3 local 1/2 cross 0/1",
            "[2] sum 7 rank 2/3 local 0/1 cross 1/2"),
        lines(said));
  }

  @Test
  void mistakesAreExplained() throws IOException {
    Path hosts = Files.writeString(folder.resolve("hosts"), "# ours\nlocalhost slots=1\n");
    Stream.of(
            List.of("Say how many ranks", "--", "true"),
            List.of("is not host:slots", "-H", "host1", "--", "true"),
            List.of("named twice", "-H", "a:1,a:2", "--", "true"),
            List.of("2 ranks do not fit", "-np", "2", "--hostfile", hosts.toString(), "--", "true"),
            List.of(
                "MILLRACE_AUTOTUNE is 'x'", "-np", "1", "-x", "MILLRACE_AUTOTUNE=x", "--", "true"),
            List.of("no such variable", "-np", "1", "-x", "MILLRACE_NONE", "--", "true"),
            List.of("Cannot start 'no-such-program'", "-np", "1", "--", "no-such-program"),
            List.of("Missing required parameter", "-np", "1"))
        .forEach(
            c -> launch(c.subList(1, c.size()).toArray(String[]::new)).wasRefusedFor(c.get(0)));
    assertEquals(0, launch("--hostfile", hosts.toString(), "--", "true").code());
  }

  @Test
  void theEndOfTheLauncherIsTheEndOfItsRanks() throws Exception {
    String script = "echo $$ > " + folder + "/$MILLRACE_RANK; exec sleep 600";
    try (WatchService watch = folder.getFileSystem().newWatchService()) {
      folder.register(watch, ENTRY_CREATE, ENTRY_MODIFY);
      try (RunningMillrace launcher =
          RunningMillrace.start("launch", "-np", "2", "--", "sh", "-c", script)) {
        awaitWritten(watch, "0");
        awaitWritten(watch, "1");
        String pid = Long.toString(launcher.process().pid());
        assertEquals(0, new ProcessBuilder("kill", "-INT", pid).start().waitFor());
        assertEquals(130, launcher.awaitExit());
      }
    }
    assertEnded("0");
    assertEnded("1");
  }
}
