package dev.millrace.cli.cluster;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.cli.text.Amount;
import dev.millrace.cli.text.CommandOutput;
import dev.millrace.cli.text.ErrorPrinter;
import dev.millrace.cli.text.Table;
import dev.millrace.dashboard.verdict.JobVerdict;
import dev.millrace.dashboard.watch.JobLog;
import dev.millrace.dashboard.watch.JobWatch;
import dev.millrace.dashboard.web.JobJson;
import dev.millrace.proto.DeviceAttributes;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Asks the tasks of a running cluster how they are. */
@Command(
    name = "status",
    description =
        "Ask a running cluster: its tasks, their devices and memory, the global step,"
            + " steps/s, staleness, the slowest worker, and what slows the job.",
    footer = {
      "",
      "Ends with code 1 if a task does not answer. Works with TensorFlow's tasks too, which do",
      "not tell their memory, steps and staleness.",
      "",
      "memory     of the process, and of the tensors it holds",
      "steps/s    of the sessions opened at this task, which for a worker are its own steps",
      "staleness  updates by others that a gradient of this worker missed, on average",
      "",
      "Examples:",
      "  millrace status --ps_hosts host0:2222 --worker_hosts host1:2222,host2:2222",
      "  millrace status --cluster local=localhost:2222 --json",
    })
public final class StatusCommand implements Callable<Integer> {
  @Mixin CommandOutput report;
  @Mixin ClusterFlags cluster;
  @Mixin SecurityFlags security;

  @Option(
      names = "--timeout",
      paramLabel = "SECONDS",
      description = "How long a task may take to answer. Default: ${DEFAULT-VALUE}")
  int timeoutSeconds = 5;

  @Option(
      names = "--interval",
      paramLabel = "SECONDS",
      description = "How long to watch for steps/s. Default: ${DEFAULT-VALUE}")
  int intervalSeconds = 2;

  /** The global step, and how fast it grows. */
  private record Pace(long step, double perSecond) {
    static Pace between(long first, long nanos, OptionalLong second) {
      long step = second.orElse(first);
      return new Pace(step, (step - first) / ((Timers.system().now() - nanos) / 1e9));
    }

    @Override
    public String toString() {
      return String.format(Locale.ROOT, "global step %d, %.1f steps/s", step, perSecond);
    }
  }

  @Override
  public Integer call() throws InterruptedException {
    return security.context("status").<Integer, InterruptedException>call(this::ask);
  }

  private int ask() throws InterruptedException {
    if (timeoutSeconds < 1 || intervalSeconds < 0) {
      throw MillraceException.invalid(
          "--timeout is %d and --interval %d; they must be at least 1 and 0.",
          timeoutSeconds, intervalSeconds);
    }
    Duration patience = Duration.ofSeconds(timeoutSeconds);
    List<TaskPace> tasks;
    Pace pace = null;
    String noPace = "no global step yet";
    JobVerdict verdict;
    try (ClusterView view = new ClusterView(cluster.cluster(), patience);
        JobWatch watch = new JobWatch(cluster.cluster(), new JobLog(), Duration.ZERO, _ -> {})) {
      List<ClusterView.Answer> before = view.ask();
      try (StepReader reader = reader(before, patience)) {
        if (reader == null) {
          noPace = "no global step: no task that could hold it answers";
        }
        OptionalLong first = reader == null ? OptionalLong.empty() : reader.read();
        long start = Timers.system().now();
        before = intervalSeconds > 0 ? view.ask() : before;
        Timers.system().sleep(Duration.ofSeconds(intervalSeconds));
        tasks = TaskPace.between(before, intervalSeconds > 0 ? view.ask() : before);
        if (first.isPresent()) {
          pace = Pace.between(first.getAsLong(), start, reader.read());
        }
      } catch (MillraceException e) {
        tasks = TaskPace.between(before, before);
        noPace = "no global step: " + e.getMessage();
      }
      verdict = watch.verdictNow();
    }
    if (report.json) {
      Map<String, Object> facts = facts(tasks, pace);
      facts.put("verdict", JobJson.verdict(verdict));
      report.json(facts);
    } else {
      print(tasks);
      report.out().println(pace == null ? noPace : pace);
      report.out().println(TopCommand.words(verdict));
    }
    return tasks.stream().allMatch(t -> t.answer().isUp()) ? 0 : ErrorPrinter.FAILURE;
  }

  /** A reader of the step through the tasks that are up, or null if none is. */
  private static StepReader reader(List<ClusterView.Answer> answers, Duration patience) {
    List<ClusterView.Answer> up = stateHolders(answers);
    return up.isEmpty() ? null : new StepReader(up, patience);
  }

  /** The tasks that may hold the step: parameter servers, or all where there is none. */
  private static List<ClusterView.Answer> stateHolders(List<ClusterView.Answer> answers) {
    boolean ps = answers.stream().anyMatch(a -> a.task().job().equals("ps"));
    return answers.stream().filter(a -> a.isUp() && (!ps || a.task().job().equals("ps"))).toList();
  }

  private void print(List<TaskPace> tasks) {
    Table table =
        new Table(
            "task",
            "address",
            "state",
            "answer",
            "devices",
            "memory",
            "tensors",
            "steps/s",
            "staleness",
            "started as");
    for (TaskPace t : tasks) {
      ClusterView.Answer a = t.answer();
      table.row(
          a.task(),
          a.address(),
          a.isUp() ? "up" : "no answer",
          String.format(Locale.ROOT, "%.1f ms", a.millis()),
          a.devices().size(),
          a.hasFacts() ? Amount.bytes(a.facts().getResidentBytes()) : "-",
          a.hasFacts() ? Amount.bytes(a.facts().getTensorBytes()) : "-",
          TaskPace.cell(t.stepsPerSecond(), "%.1f"),
          TaskPace.cell(t.staleness(), "%.2f"),
          a.isUp() ? String.format("%016x", a.incarnation()) : "-");
    }
    table.print(report.out());
    tasks.stream()
        .map(TaskPace::answer)
        .filter(a -> !a.isUp())
        .forEach(a -> report.out().println(a.task() + ": " + a.failure()));
    TaskPace slowest = TaskPace.slowest(tasks);
    if (slowest != null) {
      report
          .out()
          .printf(
              Locale.ROOT,
              "slowest worker: %s with %.1f steps/s%n",
              slowest.answer().task(),
              slowest.stepsPerSecond());
    }
  }

  private static Map<String, Object> facts(List<TaskPace> tasks, Pace pace) {
    TaskPace slowest = TaskPace.slowest(tasks);
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("globalStep", pace == null ? null : pace.step);
    all.put("stepsPerSecond", pace == null ? null : pace.perSecond);
    all.put("slowestWorker", slowest == null ? null : slowest.answer().task().toString());
    all.put("tasks", tasks.stream().map(StatusCommand::facts).toList());
    return all;
  }

  private static Map<String, Object> facts(TaskPace t) {
    ClusterView.Answer a = t.answer();
    Map<String, Object> f = new LinkedHashMap<>();
    f.put("task", a.task().toString());
    f.put("address", a.address());
    f.put("up", a.isUp());
    f.put("millis", a.millis());
    f.put("devices", a.devices().stream().map(DeviceAttributes::getName).toList());
    f.put("incarnation", Long.toUnsignedString(a.incarnation(), 16));
    f.put("failure", a.failure());
    if (a.hasFacts()) {
      f.put("version", a.facts().getVersion());
      f.put("residentBytes", a.facts().getResidentBytes());
      f.put("heapBytes", a.facts().getHeapBytes());
      f.put("tensorBytes", a.facts().getTensorBytes());
      f.put("sessions", a.facts().getSessions());
      f.put("steps", a.facts().getSteps());
      f.put("stepsPerSecond", t.stepsPerSecond());
      f.put("gauges", new TreeMap<>(a.facts().getGaugesMap()));
    }
    return f;
  }
}
