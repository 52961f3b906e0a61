package dev.millrace.interop.failure;

import dev.millrace.base.MillraceException;
import dev.millrace.interop.ChildProcess;
import dev.millrace.interop.LoopbackCluster;
import dev.millrace.proto.ConfigProto;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * A job of {@link TrainingTask}s as processes on this machine, which can be killed, paused and
 * started again. Worker 0 is the chief.
 *
 * <p>Threading: one thread drives it; others listen to what the tasks report.
 */
final class TrainingJob implements AutoCloseable {
  /** How long anything may take on a machine that is busy with other things. */
  static final Duration PATIENCE = Duration.ofSeconds(240);

  private static final List<String> QUICK_START =
      List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");
  private static final long POLL_NANOS = 500_000L;

  private static final int STEP_MILLIS = 15;

  private final String mode;
  private final Path folder;
  private final LoopbackCluster cluster;
  private final int psTasks;
  private final int workers;

  /** How long a worker's steps take, unless the usual time. */
  private final Map<String, Integer> stepMillis = new HashMap<>();

  private final Map<String, Task> tasks = new ConcurrentHashMap<>();

  /** One life of a task: the process and what it has reported. */
  private static final class Task {
    private final ChildProcess process;
    private volatile long steps;
    private volatile long lastStep = -1;
    private volatile String outcome;

    Task(ChildProcess process) {
      this.process = process;
    }

    void listen() {
      long heard = 0;
      try {
        while (true) {
          String[] words = process.receive(Duration.ofMinutes(10)).split(" ", 2);
          if (words[0].equals("step")) {
            lastStep = Long.parseLong(words[1]);
            steps = ++heard;
          } else {
            outcome = words[1];
          }
        }
      } catch (MillraceException e) {
        // It has ended.
      }
    }
  }

  TrainingJob(String mode, int psTasks, int workers, Path folder) {
    this.mode = mode;
    this.psTasks = psTasks;
    this.workers = workers;
    this.folder = folder;
    this.cluster = LoopbackCluster.psAndWorkers(psTasks, workers);
  }

  /** Has a worker take this long for each step, from its next start on. */
  void setStepMillis(String name, int millis) {
    stepMillis.put(name, millis);
  }

  void startAll() {
    for (int i = 0; i < psTasks; i++) {
      start("ps/" + i);
    }
    for (int i = 0; i < workers; i++) {
      start("worker/" + i);
    }
  }

  /** Starts a task, for the first time or after it was killed. */
  void start(String name) {
    String[] parts = name.split("/");
    byte[] definition =
        cluster
            .server(parts[0], Integer.parseInt(parts[1]), ConfigProto.getDefaultInstance())
            .toByteArray();
    Task before = tasks.get(name);
    if (before != null) {
      before.process.close();
    }
    Task task =
        new Task(
            ChildProcess.start(
                name,
                QUICK_START,
                TrainingTask.class,
                List.of(
                    Base64.getEncoder().encodeToString(definition),
                    mode,
                    folder.toString(),
                    "" + stepMillis.getOrDefault(name, STEP_MILLIS))));
    tasks.put(name, task);
    Thread.ofVirtual().name("reports of " + name).start(task::listen);
  }

  /** Kills tasks as a crash of their machines would, all at once. */
  void kill(String... names) throws IOException, InterruptedException {
    for (String name : names) {
      signal("KILL", name);
    }
    for (String name : names) {
      tasks.get(name).process.kill();
    }
  }

  void signal(String signal, String name) throws IOException, InterruptedException {
    Process kill =
        new ProcessBuilder("kill", "-" + signal, "" + tasks.get(name).process.pid())
            .inheritIO()
            .start();
    if (!kill.waitFor(10, TimeUnit.SECONDS) || kill.exitValue() != 0) {
      throw new IllegalStateException("kill -" + signal + " " + name + " failed");
    }
  }

  /** Tells a task something. */
  void tell(String name, String line) {
    tasks.get(name).process.send(line);
  }

  /** How many steps this life of a worker has reported. */
  long steps(String name) {
    return tasks.get(name).steps;
  }

  /** The global step a worker reported last; -1 if none yet. */
  long lastStep(String name) {
    return tasks.get(name).lastStep;
  }

  /** The highest global step reported by the workers there are. */
  long highestStep() {
    return tasks.values().stream().mapToLong(t -> t.lastStep).max().orElse(-1);
  }

  /** Waits until a worker has made some more steps from now on. */
  void awaitSteps(String name, int more) {
    Task task = tasks.get(name);
    long target = task.steps + more;
    await(() -> task.steps >= target, () -> name + " to make a step; " + log(name, 0));
  }

  /** What a task has written from some byte on. */
  String log(String name, long from) {
    try {
      byte[] all = Files.readAllBytes(tasks.get(name).process.log());
      int start = (int) Math.min(from, all.length);
      return new String(all, start, all.length - start, StandardCharsets.UTF_8);
    } catch (IOException e) {
      return "its log cannot be read: " + e;
    }
  }

  long logSize(String name) {
    return tasks.get(name).process.log().toFile().length();
  }

  /** How a parameter server says the job ended; {@code null} as text if well. */
  String awaitOutcome(String name) {
    Task task = tasks.get(name);
    await(() -> task.outcome != null, () -> name + " to leave; " + log(name, 0));
    return task.outcome;
  }

  int awaitExit(String name) {
    return tasks.get(name).process.awaitExit(PATIENCE);
  }

  /** Waits for something; fails, naming it, when that takes too long. */
  static void await(BooleanSupplier condition, Supplier<String> what) {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > end) {
        throw new AssertionError("Waited " + PATIENCE.toSeconds() + " s for " + what.get());
      }
      LockSupport.parkNanos(POLL_NANOS);
    }
  }

  @Override
  public void close() {
    tasks.values().forEach(t -> t.process.close());
    cluster.close();
  }
}
