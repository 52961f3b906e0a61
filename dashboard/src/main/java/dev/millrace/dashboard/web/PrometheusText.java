package dev.millrace.dashboard.web;

import dev.millrace.base.steps.Figure;
import dev.millrace.base.steps.Phase;
import dev.millrace.dashboard.verdict.JobVerdict;
import dev.millrace.dashboard.verdict.TaskFigures;
import dev.millrace.dashboard.watch.JobSnapshot;
import dev.millrace.dashboard.watch.TaskState;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/** The figures of a job in the text format of Prometheus. */
final class PrometheusText {
  private final StringBuilder text = new StringBuilder();
  private final JobSnapshot state;

  private PrometheusText(JobSnapshot state) {
    this.state = state;
  }

  static String of(JobSnapshot state) {
    return new PrometheusText(state).write();
  }

  private String write() {
    job("millrace_global_step", "The global step of the job.", gauge("step"));
    job("millrace_steps_planned", "How many global steps the job is to make.", gauge("steps"));
    job("millrace_loss", "The loss, smoothed over some steps.", JobJson.loss(state));
    job("millrace_global_steps_per_second", "Global steps in a second.", JobJson.globalRate(state));
    job(
        "millrace_slow",
        "Whether the verdict blames something; millrace_verdict has its words.",
        state.verdict().state() == JobVerdict.State.SLOW ? 1 : 0);
    head("millrace_verdict_info", "The verdict: what slows the job, or that nothing does.");
    text.append("millrace_verdict_info{task=\"")
        .append(escaped(state.verdict().task()))
        .append("\",cause=\"")
        .append(escaped(state.verdict().cause().words()))
        .append("\"} 1\n");
    head("millrace_task_up", "Whether the task answers.");
    for (TaskState t : state.tasks()) {
      sample("millrace_task_up", t, "", t.figures().isUp() ? 1 : 0);
    }
    tasks("millrace_task_steps_per_second", "Steps of the task in a second.", f(Figure.STEPS));
    tasks(
        "millrace_task_examples_per_second",
        "Examples that the task trains in a second.",
        f(Figure.EXAMPLES));
    head("millrace_task_phase_seconds", "Seconds of a step that each phase takes.");
    for (TaskState t : state.tasks()) {
      if (t.figures().isTraining()) {
        for (Phase p : Phase.ALL) {
          sample(
              "millrace_task_phase_seconds",
              t,
              ",phase=\"" + p.label() + "\"",
              now(t).millis(p) / 1e3);
        }
      }
    }
    tasks(
        "millrace_task_parts_per_second",
        "Parts of other tasks' steps that the task runs in a second.",
        f(Figure.PARTS));
    tasks(
        "millrace_task_part_seconds",
        "Seconds that such a part takes, without waits.",
        t -> now(t).partMillis() / 1e3);
    tasks(
        "millrace_task_processors_used",
        "Processors that the process uses.",
        t -> now(t).share(Figure.CPU));
    tasks(
        "millrace_task_gc_share",
        "The part of the time in which garbage is collected.",
        t -> now(t).share(Figure.GC));
    tasks(
        "millrace_task_resident_bytes",
        "Memory of the process.",
        t -> t.facts().getResidentBytes());
    tasks("millrace_task_heap_bytes", "Heap in use.", t -> t.facts().getHeapBytes());
    tasks("millrace_task_tensor_bytes", "Memory of tensors.", t -> t.facts().getTensorBytes());
    tasks(
        "millrace_task_disk_read_bytes_per_second",
        "Bytes read from disks in a second.",
        f(Figure.DISK_READ));
    tasks(
        "millrace_task_disk_written_bytes_per_second",
        "Bytes written to disks in a second.",
        f(Figure.DISK_WRITTEN));
    tasks(
        "millrace_task_staleness",
        "Updates of others that a gradient of the task missed, on average.",
        t -> t.gauge("staleness"));
    return text.toString();
  }

  private double gauge(String name) {
    return state.gauge(name).orElse(Double.NaN);
  }

  private ToDoubleFunction<TaskState> f(Figure figure) {
    return t -> now(t).perSecond(figure);
  }

  private TaskFigures.Span now(TaskState t) {
    long second = Math.floorDiv(state.epochMillis(), 1000L);
    return t.figures().span(second - 6, second - 1);
  }

  private void head(String name, String help) {
    text.append("# HELP ").append(name).append(' ').append(help).append('\n');
    text.append("# TYPE ").append(name).append(" gauge\n");
  }

  private void job(String name, String help, double value) {
    if (!Double.isNaN(value)) {
      head(name, help);
      text.append(name).append(' ').append(value).append('\n');
    }
  }

  private void tasks(String name, String help, ToDoubleFunction<TaskState> value) {
    List<TaskState> known =
        state.tasks().stream()
            .filter(t -> t.facts() != null && !Double.isNaN(value.applyAsDouble(t)))
            .toList();
    if (!known.isEmpty()) {
      head(name, help);
      known.forEach(t -> sample(name, t, "", value.applyAsDouble(t)));
    }
  }

  private void sample(String name, TaskState t, String labels, double value) {
    text.append(name)
        .append("{task=\"")
        .append(escaped(t.name()))
        .append('"')
        .append(labels)
        .append("} ")
        .append(String.format(Locale.ROOT, "%s", value))
        .append('\n');
  }

  private static String escaped(String s) {
    return s.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
  }
}
