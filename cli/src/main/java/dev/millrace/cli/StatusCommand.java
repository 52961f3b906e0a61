package dev.millrace.cli;

import dev.millrace.base.MillraceException;
import dev.millrace.cli.text.Table;
import dev.millrace.proto.DeviceAttributes;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Asks the tasks of a running cluster how they are. */
@Command(
    name = "status",
    description = "Ask a running cluster: its tasks, their devices, the global step, steps/s.",
    footer = {
      "",
      "Ends with code 1 if a task does not answer. Works with TensorFlow's tasks too.",
      "",
      "Examples:",
      "  millrace status --ps_hosts host0:2222 --worker_hosts host1:2222,host2:2222",
      "  millrace status --cluster local=localhost:2222 --json",
    })
final class StatusCommand implements Callable<Integer> {
  @Mixin Report report;
  @Mixin ClusterFlags cluster;

  @Option(
      names = "--timeout",
      paramLabel = "SECONDS",
      description = "How long a task may take to answer. Default: ${DEFAULT-VALUE}")
  int timeoutSeconds = 5;

  @Option(
      names = "--interval",
      paramLabel = "SECONDS",
      description = "How long to watch the global step for steps/s. Default: ${DEFAULT-VALUE}")
  int intervalSeconds = 2;

  /** The global step, and how fast it grows. */
  private record Pace(long step, double perSecond) {}

  @Override
  public Integer call() throws InterruptedException {
    Duration patience = Duration.ofSeconds(Math.max(1, timeoutSeconds));
    List<ClusterView.Answer> answers;
    Pace pace;
    String noPace = null;
    try (ClusterView view = new ClusterView(cluster.cluster(), patience)) {
      answers = view.ask();
      List<ClusterView.Answer> up = stateHolders(answers);
      try {
        pace = up.isEmpty() ? null : pace(up, patience);
      } catch (MillraceException e) {
        pace = null;
        noPace = e.getMessage();
      }
    }
    if (report.json) {
      report.json(facts(answers, pace));
    } else {
      print(answers, pace, noPace);
    }
    return answers.stream().allMatch(ClusterView.Answer::isUp) ? 0 : Complaint.FAILURE;
  }

  /** The tasks that may hold the step: parameter servers, or all where there is none. */
  private static List<ClusterView.Answer> stateHolders(List<ClusterView.Answer> answers) {
    boolean ps = answers.stream().anyMatch(a -> a.task().job().equals("ps"));
    return answers.stream().filter(a -> a.isUp() && (!ps || a.task().job().equals("ps"))).toList();
  }

  private Pace pace(List<ClusterView.Answer> up, Duration patience) throws InterruptedException {
    try (StepReader reader = new StepReader(up, patience)) {
      OptionalLong first = reader.read();
      if (first.isEmpty()) {
        return null;
      }
      long start = System.nanoTime();
      TimeUnit.SECONDS.sleep(Math.max(0, intervalSeconds));
      OptionalLong second = reader.read();
      double seconds = (System.nanoTime() - start) / 1e9;
      long step = second.orElse(first.getAsLong());
      return new Pace(
          step, intervalSeconds > 0 ? (step - first.getAsLong()) / seconds : Double.NaN);
    }
  }

  private void print(List<ClusterView.Answer> answers, Pace pace, String noPace) {
    Table table = new Table("task", "address", "state", "answer", "devices", "started as");
    for (ClusterView.Answer a : answers) {
      table.row(
          a.task(),
          a.address(),
          a.isUp() ? "up" : "no answer",
          String.format(Locale.ROOT, "%.1f ms", a.millis()),
          a.devices().size(),
          a.isUp() ? String.format("%016x", a.incarnation()) : "-");
    }
    table.print(report.out());
    answers.stream()
        .filter(a -> !a.isUp())
        .forEach(a -> report.out().println(a.task() + ": " + a.failure()));
    if (pace != null) {
      report.out().printf(Locale.ROOT, "global step %d, %.1f steps/s%n", pace.step, pace.perSecond);
    } else {
      report.out().println(noPace == null ? "no global step yet" : "no global step: " + noPace);
    }
  }

  private static Map<String, Object> facts(List<ClusterView.Answer> answers, Pace pace) {
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("globalStep", pace == null ? null : pace.step);
    all.put("stepsPerSecond", pace == null ? null : pace.perSecond);
    all.put("tasks", answers.stream().map(StatusCommand::facts).toList());
    return all;
  }

  private static Map<String, Object> facts(ClusterView.Answer a) {
    Map<String, Object> f = new LinkedHashMap<>();
    f.put("task", a.task().toString());
    f.put("address", a.address());
    f.put("up", a.isUp());
    f.put("millis", a.millis());
    f.put("devices", a.devices().stream().map(DeviceAttributes::getName).toList());
    f.put("incarnation", Long.toUnsignedString(a.incarnation(), 16));
    f.put("failure", a.failure());
    return f;
  }
}
