package dev.millrace.cli.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import dev.millrace.cli.RunningMillrace;
import dev.millrace.cluster.HeldPorts;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.dashboard.verdict.JobVerdict;
import dev.millrace.dashboard.verdict.JobVerdict.Cause;
import dev.millrace.dashboard.verdict.JobVerdict.State;
import dev.millrace.dashboard.watch.JobLog;
import dev.millrace.dashboard.watch.JobWatch;
import dev.millrace.dashboard.watch.TaskState;
import dev.millrace.testkit.Slow;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * A worker that is stopped in a real job of a parameter server and four workers must be named; a
 * job without a cause gets no blame. Other causes are tested on figures, by {@code JudgeTest}. It
 * needs the machine to itself.
 */
@Slow
@Isolated
@Timeout(600)
class InjectedCausesTest {
  private static final int WORKERS = 4;

  /** How long after the injection the verdict may come. */
  private static final int PATIENCE_SECONDS = 10;

  @TempDir Path folder;
  private final HeldPorts ports = HeldPorts.take(1 + WORKERS);
  private final Map<String, RunningMillrace> tasks = new LinkedHashMap<>();
  private final List<JobVerdict> said = new CopyOnWriteArrayList<>();
  private JobWatch watch;

  @BeforeEach
  void start() throws IOException {
    start("ps", 0, "-Xmx300m");
    for (int i = 0; i < WORKERS; i++) {
      start("worker", i, "-Xmx300m");
    }
    List<String> all = ports.addresses();
    watch =
        new JobWatch(
            ClusterSpec.of(Map.of("ps", all.subList(0, 1), "worker", all.subList(1, 1 + WORKERS))),
            new JobLog(),
            Duration.ZERO,
            said::add);
    awaitEven();
  }

  @AfterEach
  void close() {
    if (watch != null) {
      watch.close();
    }
    tasks.values().forEach(RunningMillrace::close);
    ports.close();
  }

  private void start(String job, int index, String heap, String... more) throws IOException {
    List<String> all = ports.addresses();
    List<String> args =
        new ArrayList<>(
            List.of(
                "train",
                "mnist",
                "--model",
                "mlp",
                "--steps",
                "100000000",
                "--log-dir",
                folder.toString(),
                "--ps_hosts",
                all.getFirst(),
                "--worker_hosts",
                String.join(",", all.subList(1, 1 + WORKERS)),
                "--job_name",
                job,
                "--task_index",
                Integer.toString(index)));
    args.addAll(List.of(more));
    tasks.put(
        job + "/" + index,
        RunningMillrace.start(
            Map.of(
                "MILLRACE_JAVA_OPTS",
                heap + " -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dmillrace.threads=1"),
            args.toArray(String[]::new)));
  }

  private void await(String what, int seconds, BooleanSupplier is) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    while (!is.getAsBoolean()) {
      if (System.nanoTime() - end > 0) {
        fail("Not within " + seconds + " s: " + what + "; now: " + watch.state().verdict());
      }
      LockSupport.parkNanos(50_000_000);
    }
  }

  private void awaitEven() {
    await("an even job", 180, () -> watch.state().verdict().state() == State.EVEN);
  }

  /** The verdict that blames something, after what was injected at {@code from}. */
  private void named(String what, Cause cause, String task, int from) {
    await(
        what,
        PATIENCE_SECONDS,
        () -> said.subList(from, said.size()).stream().anyMatch(v -> v.state() == State.SLOW));
    JobVerdict v =
        said.subList(from, said.size()).stream()
            .filter(x -> x.state() == State.SLOW)
            .findFirst()
            .orElseThrow();
    System.err.println("== " + what + ": " + v.sentence());
    assertEquals(cause, v.cause(), v.toString());
    assertEquals(task, v.task(), v.toString());
  }

  private long pid(String task) {
    return watch.state().tasks().stream()
        .filter(t -> t.name().equals(task))
        .map(TaskState::facts)
        .findFirst()
        .orElseThrow()
        .getPid();
  }

  private static void signal(String name, long pid) throws IOException {
    try {
      new ProcessBuilder("kill", "-" + name, Long.toString(pid)).start().waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void aJobWithoutACauseIsNotBlamed() {
    int from = said.size();
    LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(40));
    assertEquals(
        List.of(),
        said.subList(from, said.size()).stream().filter(v -> v.state() == State.SLOW).toList());
  }

  @Test
  void aTaskThatIsStoppedIsNamed() throws IOException {
    int from = said.size();
    long pid = pid("worker/2");
    signal("STOP", pid);
    try {
      named("SIGSTOP of worker/2", Cause.STOPPED, "worker/2", from);
    } finally {
      signal("CONT", pid);
    }
  }
}
