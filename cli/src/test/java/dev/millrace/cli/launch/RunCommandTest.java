package dev.millrace.cli.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cli.LaunchedSum;
import dev.millrace.cli.Ran;
import dev.millrace.cli.RunningMillrace;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.cluster.spec.TfConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

@Timeout(120)
@Execution(ExecutionMode.CONCURRENT)
class RunCommandTest {
  @TempDir Path folder;

  private Ran run(String... args) {
    return Ran.millrace(
        Stream.concat(Stream.of("run", "--logs", logs().toString()), Arrays.stream(args)).toList());
  }

  private Path logs() {
    return folder.resolve("logs");
  }

  private String log(String name) throws IOException {
    return Files.readString(logs().resolve(name));
  }

  /** Waits in a script for a file, for at most 60 s. */
  private String await(String file) {
    return "n=0; while [ ! -e "
        + folder
        + "/"
        + file
        + " ] && [ $n -lt 1200 ]; do sleep 0.05;"
        + " n=$((n + 1)); done; ";
  }

  @Test
  void everyTaskGetsItsRoleAndItsLog() throws IOException {
    Ran said =
        run(
            "--mode",
            "sync",
            "--ps",
            "1",
            "--workers",
            "2",
            "--evaluator",
            "-x",
            "A=b c",
            "--",
            "sh",
            "-c",
            "echo $JOB_NAME/$TASK_INDEX $MILLRACE_MODE $A; echo \"$TF_CONFIG\" >&2");
    assertEquals(0, said.code(), said.toString());
    assertEquals(
        List.of(
            "Running 1 ps, 2 workers, an evaluator, sync. The logs are in " + logs() + ".",
            "worker/0 sync b c"),
        said.out().lines().toList());
    for (String task : List.of("ps/0", "worker/0", "worker/1", "evaluator/0")) {
      List<String> lines = log(task.replace('/', '_') + ".log").lines().sorted().toList();
      assertEquals(task + " sync b c", lines.getFirst());
      TfConfig config = TfConfig.parse(lines.getLast());
      assertEquals(task, config.task().toString());
      assertEquals(2, config.cluster().tasks("worker").size());
      assertTrue(
          config.cluster().address(new TaskId("ps", 0)).startsWith("127.0.0.1:"), lines::toString);
    }
  }

  @Test
  void wordsThatBeginWithAFlagAreArgumentsOfJava() {
    Ran said =
        run(
            "--mode",
            "local",
            "--",
            "-cp",
            System.getProperty("java.class.path"),
            LaunchedSum.class.getName());
    assertEquals(0, said.code(), said.toString());
    assertTrue(said.out().endsWith("sum 1 rank 0/1 local 0/1 cross 0/1\n"), said.out());
  }

  @Test
  void theWarningOfAJvmIsLeftOutAndNothingElse() {
    String warning = "WARNING: Using incubator modules: jdk.incubator.vector";
    Map.of(
            warning,
            "",
            warning + "\\nmore",
            "[worker/0] more",
            "WARNING: Using",
            "[worker/0] WARNING: Using",
            "other",
            "[worker/0] other")
        .forEach(
            (printed, shown) -> {
              String script = "printf '" + printed + "\\n' >&2";
              Ran said = run("--mode", "local", "--show-all", "--", "sh", "-c", script);
              assertEquals(shown, said.err().strip(), said.toString());
            });
  }

  @Test
  void aTaskThatIsKilledStartsAgainWhileTheOthersGoOn() throws IOException {
    String script =
        "echo start; if [ $JOB_NAME$TASK_INDEX = worker1 ]; then if [ -e DIR/once ]; then touch"
            + " DIR/twice; else touch DIR/once; kill -9 $$; fi; fi; ";
    Ran said = run("--", "sh", "-c", script.replace("DIR", folder.toString()) + await("twice"));
    assertEquals(0, said.code(), said.toString());
    assertEquals(
        "millrace: worker/1 was killed by signal 9; it starts again in 1 s (restart 1 of 3).\n",
        said.err());
    assertEquals("start\n", log("worker_0.log"));
    assertEquals("start\n", log("ps_0.log"));
    assertEquals(
        "start\n# worker/1 was killed by signal 9; restart 1\nstart\n", log("worker_1.log"));
  }

  @Test
  void aTaskThatDiesTooOftenEndsTheJobWithItsOwnWords() throws Exception {
    String script =
        "echo $$ > DIR/$JOB_NAME$TASK_INDEX; if [ $JOB_NAME = ps ]; then echo out of luck >&2;"
            + " exit 5; fi; exec sleep 600";
    Ran said =
        run("--max-restarts", "1", "--", "sh", "-c", script.replace("DIR", folder.toString()));
    assertEquals(1, said.code(), said.toString());
    assertEquals(
        List.of(
            "millrace: ps/0 ended with code 5: out of luck; it starts again in 1 s (restart 1 of"
                + " 1).",
            "millrace: ps/0 ended with code 5: out of luck. Its log is "
                + logs().resolve("ps_0.log")
                + "."),
        said.err().lines().toList());
    assertEnded("worker0");
    assertEnded("worker1");
  }

  @Test
  void wrongUseIsNotTriedAgain() throws IOException {
    Ran said = run("--", "sh", "-c", "[ $JOB_NAME = worker ] && exit 2; exec sleep 600");
    assertEquals(2, said.code(), said.toString());
    assertFalse(said.err().contains("starts again"), said.err());
  }

  @Test
  void aClassThatIsNotFoundIsNotTriedAgain() {
    Ran said = run("--mode", "local", "--", "-cp", folder.toString(), "com.acme.Missing");
    assertEquals(2, said.code(), said.toString());
    assertTrue(
        said.err().contains("Could not find or load main class com.acme.Missing"), said.err());
    assertEquals(1, said.err().lines().count(), said.err());
  }

  @Test
  void aTaskThatIsToldToStopStopsTheJob() throws Exception {
    String script =
        "echo $$ > DIR/$JOB_NAME$TASK_INDEX; [ $JOB_NAME$TASK_INDEX = worker1 ] && kill $$; exec"
            + " sleep 600";
    Ran said = run("--", "sh", "-c", script.replace("DIR", folder.toString()));
    assertEquals(143, said.code(), said.toString());
    assertEnded("worker1");
    assertEquals(1, said.err().lines().count(), said.err());
  }

  @Test
  void aRingStartsAgainAsAWhole() throws IOException {
    String script =
        "echo rank $MILLRACE_RANK of $MILLRACE_SIZE at $MILLRACE_RENDEZVOUS; if [ -e DIR/once ];"
            + " then exit 0; fi; if [ $MILLRACE_RANK = 1 ]; then touch DIR/once; exit 7; fi; exec"
            + " sleep 600";
    Ran said =
        run(
            "--mode",
            "ring",
            "--workers",
            "3",
            "--",
            "sh",
            "-c",
            script.replace("DIR", folder.toString()));
    assertEquals(0, said.code(), said.toString());
    assertTrue(
        said.err().contains("rank 1 ended with code 7: rank 1 of 3 at")
            && said.err().contains("all tasks start again in 1 s (restart 1 of 3)."),
        said.err());
    List<String> starts = log("rank_1.log").lines().toList();
    assertEquals(2, starts.size(), starts.toString());
    assertFalse(starts.get(0).equals(starts.get(1)), "the same coordinator: " + starts);
  }

  @Test
  void otherHostsGetPortsOfTheirOwn() throws IOException {
    Path ssh = folder.resolve("ssh");
    Files.writeString(ssh, "#!/bin/sh\nshift\neval \"exec $*\"\n");
    assertTrue(ssh.toFile().setExecutable(true));
    Ran said =
        run(
            "--hosts",
            "a.invalid:2,b.invalid:2",
            "--port",
            "3000",
            "--ssh",
            ssh.toString(),
            "--",
            "sh",
            "-c",
            "echo $PS_HOSTS $WORKER_HOSTS");
    assertEquals(0, said.code(), said.toString());
    for (String name : List.of("ps_0.log", "worker_0.log", "worker_1.log", "worker_2.log")) {
      assertEquals(
          "a.invalid:3000 a.invalid:3001,b.invalid:3000,b.invalid:3001\n", log(name), name);
    }
  }

  /** Also what a program started that does not pass signals on. */
  @Test
  void aLauncherThatIsKilledLeavesNoProcess() throws Exception {
    String script =
        "sh -c 'echo $$ > DIR/child-$JOB_NAME$TASK_INDEX; exec sleep 600' & echo $$ >"
            + " DIR/$JOB_NAME$TASK_INDEX; "
            + Stream.of("ps0", "worker0", "worker1")
                .map(t -> await(t) + await("child-" + t))
                .reduce("", String::concat)
            + "echo ready; wait";
    try (RunningMillrace launcher =
        RunningMillrace.start(
            "run",
            "--logs",
            logs().toString(),
            "--",
            "sh",
            "-c",
            script.replace("DIR", folder.toString()))) {
      launcher.awaitOutput("ready");
      launcher.process().destroyForcibly();
      launcher.awaitExit();
      for (String task : List.of("ps0", "worker0", "worker1")) {
        assertEnded(task);
        assertEnded("child-" + task);
      }
    }
  }

  private void assertEnded(String task) throws Exception {
    long pid = Long.parseLong(Files.readString(folder.resolve(task)).strip());
    ProcessHandle p = ProcessHandle.of(pid).orElse(null);
    if (p != null) {
      p.onExit().get(30, TimeUnit.SECONDS);
    }
  }

  @Test
  void mistakesAreExplained() {
    Stream.of(
            List.of("--max-restarts is -1", "--max-restarts", "-1", "--", "true"),
            List.of("--mode ring has no parameter servers", "--mode", "ring", "--ps", "1", "true"),
            List.of("--mode ring has no evaluator", "--mode", "ring", "--evaluator", "true"),
            List.of("--mode local is one process", "--mode", "local", "--workers", "2", "true"),
            List.of("--ps is 0", "--ps", "0", "--", "true"),
            List.of("--workers is 0", "--workers", "0", "--", "true"),
            List.of("5 tasks do not fit", "--hosts", "a:4", "--workers", "4", "--", "true"),
            List.of("slots of --hosts leave none", "--hosts", "a:1", "--", "true"),
            List.of("which the other hosts cannot", "--hosts", "localhost:1,a.invalid:2", "true"),
            List.of("--port 70000", "--hosts", "a.invalid:3", "--port", "70000", "--", "true"),
            List.of("Cannot start 'no-such-program'", "--", "no-such-program"),
            List.of("Cannot start './none'", "--", "./none"),
            List.of("Missing required parameter", "--ps", "1"))
        .forEach(c -> run(c.subList(1, c.size()).toArray(String[]::new)).wasRefusedFor(c.get(0)));
  }
}
