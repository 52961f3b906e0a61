package dev.millrace.cli.chaos;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.ProcessEnvironment;
import dev.millrace.base.Timers;
import dev.millrace.cli.launch.ClusterPlan;
import dev.millrace.cli.launch.JobCredentials;
import dev.millrace.cli.launch.JobTask;
import dev.millrace.cli.launch.Program;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.cluster.spec.TfConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The processes of the job, which can be killed, paused and started again.
 *
 * <p>Threading: one thread.
 */
final class ChaosJob implements AutoCloseable {
  /** Workers end when this file is there. */
  static final String STOP = "stop";

  private static final List<String> QUICK_START =
      List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m");
  private static final Duration LEAVE = Duration.ofSeconds(60);
  private static final Duration SIGNAL = Duration.ofSeconds(10);

  private final Path folder;
  private final ClusterPlan plan;
  private final Map<String, JobTask> tasks = new LinkedHashMap<>();
  private final Map<String, Process> processes = new HashMap<>();

  /** How many events of each worker have been looked at. */
  private final Map<String, Integer> seen = new HashMap<>();

  ChaosJob(Path folder, ChaosSettings settings) {
    this.folder = folder;
    List<String> words = new ArrayList<>(QUICK_START);
    words.addAll(
        List.of(
            "-cp",
            ProcessEnvironment.classPath(),
            ChaosTask.class.getName(),
            folder.toString(),
            settings.mode().toString(),
            settings.durability().toString()));
    plan =
        ClusterPlan.here(
            settings.ps(), settings.workers(), Program.java(words), Map.of(), new JobCredentials());
    plan.tasks().forEach(t -> tasks.put(t.name(), t));
  }

  /** The address of a task. */
  String address(String name) {
    TaskId id = id(name);
    return TfConfig.parse(tasks.get(name).environment().get("TF_CONFIG")).cluster().address(id);
  }

  static TaskId id(String name) {
    int slash = name.indexOf('/');
    return new TaskId(name.substring(0, slash), Integer.parseInt(name.substring(slash + 1)));
  }

  void startAll() throws IOException {
    for (String name : tasks.keySet()) {
      start(name);
    }
  }

  void start(String name) throws IOException {
    JobTask task = tasks.get(name);
    ProcessBuilder builder = new ProcessBuilder(task.command());
    builder.environment().putAll(task.environment());
    builder.redirectErrorStream(true);
    builder.redirectOutput(ProcessBuilder.Redirect.appendTo(log(name).toFile()));
    processes.put(name, builder.start());
  }

  Path log(String name) {
    return folder.resolve(name.replace('/', '-') + ".log");
  }

  /** Sends SIGKILL and waits until the process is gone. */
  void kill(String name) throws InterruptedException {
    Process p = processes.get(name);
    p.destroyForcibly();
    if (!Timers.system().join(p, LEAVE.toNanos())) {
      throw new MillraceException(Code.DEADLINE_EXCEEDED, name + " does not end after SIGKILL.");
    }
  }

  void signal(String name, String signal) throws IOException, InterruptedException {
    Process kill =
        new ProcessBuilder("kill", "-" + signal, Long.toString(processes.get(name).pid())).start();
    if (!Timers.system().join(kill, SIGNAL.toNanos()) || kill.exitValue() != 0) {
      throw new MillraceException(Code.UNKNOWN, "kill -" + signal + " of " + name + " failed.");
    }
  }

  /** The name of a task that has ended by itself, or null. */
  String ended() {
    return processes.entrySet().stream()
        .filter(e -> !e.getValue().isAlive())
        .map(Map.Entry::getKey)
        .findFirst()
        .orElse(null);
  }

  /** What a task has done since this was asked last. */
  List<TaskHistory.Event> news(String name) throws IOException {
    List<TaskHistory.Event> events = TaskHistory.read(folder, id(name), seen.getOrDefault(name, 0));
    seen.merge(name, events.size(), Integer::sum);
    return events;
  }

  /** Tells the workers to end, and waits until they have. */
  void stopWorkers() throws IOException, InterruptedException {
    Files.createFile(folder.resolve(STOP));
    for (Map.Entry<String, Process> e : processes.entrySet()) {
      if (e.getKey().startsWith("worker") && !Timers.system().join(e.getValue(), LEAVE.toNanos())) {
        throw new MillraceException(
            Code.DEADLINE_EXCEEDED, e.getKey() + " does not end; see " + log(e.getKey()) + ".");
      }
    }
  }

  /** The exit code of a task that has ended. */
  int exitCode(String name) {
    return processes.get(name).exitValue();
  }

  @Override
  public void close() {
    processes.values().forEach(Process::destroyForcibly);
    plan.close();
  }
}
