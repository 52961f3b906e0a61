package dev.millrace.dashboard.web;

import dev.millrace.base.steps.Figure;
import dev.millrace.base.steps.Phase;
import dev.millrace.base.steps.StepHistory.Second;
import dev.millrace.dashboard.verdict.JobVerdict;
import dev.millrace.dashboard.verdict.TaskFigures;
import dev.millrace.dashboard.watch.JobLog;
import dev.millrace.dashboard.watch.JobSnapshot;
import dev.millrace.dashboard.watch.TaskState;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/** A job as maps and lists, which are written as JSON. */
public final class JobJson {
  /** The seconds whose means are shown as now. */
  private static final int WINDOW = 6;

  private JobJson() {}

  /** Everything about the job but its curves, its log and its graph. */
  public static Map<String, Object> job(JobSnapshot state, List<JobVerdict> blamed, JobLog log) {
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("time", state.epochMillis());
    m.put("job", summary(state));
    m.put("verdict", verdict(state.verdict()));
    m.put("blamed", blamed.stream().map(JobJson::verdict).toList());
    m.put("phases", Phase.ALL.stream().map(Phase::label).toList());
    m.put("tasks", state.tasks().stream().map(t -> task(t, state.epochMillis())).toList());
    List<Map<String, Object>> events = new ArrayList<>();
    for (JobLog.Event e : log.events()) {
      Map<String, Object> event = new LinkedHashMap<>();
      event.put("time", e.epochMillis());
      event.put("task", e.task());
      event.put("text", e.text());
      event.put("failure", e.failure());
      event.put("echo", e.echo());
      events.add(event);
    }
    m.put("events", events);
    return m;
  }

  /** A verdict. */
  public static Map<String, Object> verdict(JobVerdict v) {
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("state", v.state().name().toLowerCase(java.util.Locale.ROOT));
    m.put("task", v.task());
    m.put("cause", v.cause() == JobVerdict.Cause.NONE ? "" : v.cause().words());
    m.put("since", v.since() == 0 ? null : v.since());
    m.put("sentence", v.sentence());
    m.put("evidence", v.evidence());
    return m;
  }

  private static Map<String, Object> summary(JobSnapshot state) {
    double step = state.gauge("step").orElse(Double.NaN);
    double steps = state.gauge("steps").orElse(Double.NaN);
    double rate = globalRate(state);
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("name", state.note("job"));
    m.put("mode", state.note("mode"));
    m.put("folder", state.note("folder"));
    m.put("step", finite(step));
    m.put("steps", finite(steps));
    m.put("loss", finite(loss(state)));
    m.put("stepsPerSecond", finite(rate));
    m.put("examplesPerSecond", finite(sum(state, Figure.EXAMPLES)));
    m.put("secondsLeft", rate > 0 ? finite((steps - step) / rate) : null);
    m.put("savedStep", finite(state.gauge("saved_step").orElse(Double.NaN)));
    m.put("savedAt", finite(state.gauge("saved_at").orElse(Double.NaN)));
    m.put("saveSeconds", finite(state.gauge("save_seconds").orElse(Double.NaN)));
    return m;
  }

  /** The loss of the first task that tells it. */
  static double loss(JobSnapshot state) {
    return state.tasks().stream()
        .mapToDouble(t -> t.gauge("loss"))
        .filter(v -> !Double.isNaN(v))
        .findFirst()
        .orElse(Double.NaN);
  }

  /** Global steps a second: workers that make every step together count once. */
  static double globalRate(JobSnapshot state) {
    boolean together = state.note("mode").equals("sync") || state.note("mode").equals("ring");
    double sum = sum(state, Figure.STEPS);
    long training = state.tasks().stream().filter(t -> t.figures().isTraining()).count();
    return together && training > 0 ? sum / training : sum;
  }

  private static double sum(JobSnapshot state, Figure f) {
    return state.tasks().stream()
        .mapToDouble(t -> now(t.figures(), state.epochMillis()).perSecond(f))
        .sum();
  }

  private static TaskFigures.Span now(TaskFigures t, long epochMillis) {
    long second = Math.floorDiv(epochMillis, 1000L);
    return t.span(second - WINDOW, second - 1);
  }

  /** A task with the means of its last seconds. */
  static Map<String, Object> task(TaskState t, long epochMillis) {
    TaskFigures.Span now = now(t.figures(), epochMillis);
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("name", t.name());
    m.put("job", t.figures().job());
    m.put("address", t.address());
    m.put("up", t.figures().isUp());
    m.put("failure", t.figures().failure());
    m.put("silentSeconds", finite(t.figures().silentSeconds()));
    m.put("starts", t.starts());
    m.put("answerMillis", finite(t.answerMillis()));
    m.put("training", t.figures().isTraining());
    m.put("server", t.figures().isServer());
    if (t.facts() == null) {
      return m;
    }
    m.put("host", t.facts().getHost());
    m.put("pid", t.facts().getPid());
    m.put("version", t.facts().getVersion());
    m.put("clockAheadMillis", finite(t.clockAheadMillis()));
    m.put("phase", t.figures().phase());
    m.put("phaseSeconds", finite(t.figures().phaseSeconds()));
    m.put("stepsPerSecond", finite(now.perSecond(Figure.STEPS)));
    m.put("examplesPerSecond", finite(now.perSecond(Figure.EXAMPLES)));
    Map<String, Object> phases = new LinkedHashMap<>();
    Phase.ALL.forEach(p -> phases.put(p.label(), finite(now.millis(p))));
    m.put("phaseMillis", phases);
    m.put("stepMillis", finite(now.millis()));
    m.put("partsPerSecond", finite(now.perSecond(Figure.PARTS)));
    m.put("partMillis", finite(now.partMillis()));
    m.put("queue", queue(t.figures(), epochMillis));
    m.put("cpu", finite(now.share(Figure.CPU)));
    m.put("hostCpu", finite(now.share(Figure.HOST_CPU)));
    m.put("processors", t.facts().getProcessors());
    m.put("gc", finite(now.share(Figure.GC)));
    m.put("residentBytes", t.facts().getResidentBytes());
    m.put("heapBytes", t.facts().getHeapBytes());
    m.put("tensorBytes", t.facts().getTensorBytes());
    m.put("diskRead", finite(now.perSecond(Figure.DISK_READ)));
    m.put("diskWritten", finite(now.perSecond(Figure.DISK_WRITTEN)));
    m.put("retransmitted", finite(now.perSecond(Figure.RETRANSMITTED)));
    m.put("sent", t.sent());
    m.put("waits", t.figures().waits());
    m.put("gauges", finite(t.facts().getGaugesMap()));
    return m;
  }

  private static long queue(TaskFigures t, long epochMillis) {
    long from = Math.floorDiv(epochMillis, 1000L) - WINDOW;
    return t.seconds().stream()
        .filter(s -> s.epochSecond() >= from)
        .mapToLong(s -> s.get(Figure.QUEUE))
        .max()
        .orElse(0);
  }

  /** The last minutes of the whole job by the second. */
  static Map<String, Object> series(JobSnapshot state) {
    Map<Long, double[]> sums = new TreeMap<>();
    for (TaskState t : state.tasks()) {
      for (Second s : t.figures().seconds()) {
        double[] row = sums.computeIfAbsent(s.epochSecond(), _ -> new double[3]);
        row[0] += s.get(Figure.STEPS);
        row[1] += s.get(Figure.EXAMPLES);
        row[2] += s.get(Figure.CPU) / 1e9;
      }
    }
    long last = Math.floorDiv(state.epochMillis(), 1000L) - 2;
    sums.keySet().removeIf(s -> s > last);
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("seconds", List.copyOf(sums.keySet()));
    m.put("steps", sums.values().stream().map(r -> finite(r[0])).toList());
    m.put("examples", sums.values().stream().map(r -> finite(r[1])).toList());
    m.put("cpu", sums.values().stream().map(r -> finite(r[2])).toList());
    return m;
  }

  /** The last minutes of one task by the second; times are milliseconds. */
  static Map<String, Object> history(TaskState t) {
    List<Second> seconds = t.figures().seconds();
    Map<String, Object> m = new LinkedHashMap<>();
    m.put("seconds", seconds.stream().map(Second::epochSecond).toList());
    for (Figure f : Figure.ALL) {
      boolean time =
          f == Figure.CPU
              || f == Figure.GC
              || f == Figure.HOST_CPU
              || f == Figure.HOST_STEAL
              || f == Figure.DISK_WAIT
              || f == Figure.PARTS_RUN
              || f == Figure.PARTS_WAIT
              || f == Figure.STOPPED
              || f == Figure.SAMPLED
              || f == Figure.LONGEST
              || f.ordinal() >= Figure.INPUT.ordinal() && f.ordinal() <= Figure.OTHER.ordinal();
      m.put(
          f.label(),
          seconds.stream().map(s -> time ? (Object) (s.get(f) / 1e6) : (Object) s.get(f)).toList());
    }
    return m;
  }

  /** Lines of the log. */
  static List<Map<String, Object>> lines(List<JobLog.Line> lines) {
    List<Map<String, Object>> all = new ArrayList<>();
    for (JobLog.Line l : lines) {
      Map<String, Object> m = new LinkedHashMap<>();
      m.put("number", l.number());
      m.put("time", l.epochMillis());
      m.put("task", l.task());
      m.put("text", l.text());
      m.put("warning", l.isWarning());
      all.add(m);
    }
    return all;
  }

  private static Map<String, Object> finite(Map<String, Double> values) {
    Map<String, Object> m = new LinkedHashMap<>();
    new TreeSet<>(values.keySet()).forEach(k -> m.put(k, finite(values.get(k))));
    return m;
  }

  /** JSON has no infinities. */
  static Double finite(double v) {
    return Double.isFinite(v) ? v : null;
  }
}
