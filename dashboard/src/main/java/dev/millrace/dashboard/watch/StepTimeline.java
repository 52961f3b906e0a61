package dev.millrace.dashboard.watch;

import dev.millrace.base.steps.Phase;
import dev.millrace.proto.TaskFacts;
import dev.millrace.proto.TaskSpan;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Steps of all tasks in one file in Chrome's JSON format, which Perfetto shows: a process for each
 * task, in it a row for each thread of steps. The clocks of the tasks are aligned. An arrow leads
 * from the push of a worker to the part of the step that a parameter server runs for it.
 */
public final class StepTimeline {
  private final List<Map<String, Object>> events = new ArrayList<>();

  /** Where the first push of each step begins: process, row, microseconds. */
  private final Map<Long, Object[]> pushes = new HashMap<>();

  private final List<Object[]> parts = new ArrayList<>();
  private int processes;

  /** Adds a task whose clock is {@code aheadNanos} ahead. */
  void add(String task, TaskFacts facts, long aheadNanos) {
    int process = ++processes;
    event("M", "process_name", process, 0, 0).put("args", Map.of("name", task));
    for (TaskSpan s : facts.getSpansList()) {
      double micros = (s.getEpochNanos() - aheadNanos) / 1e3;
      boolean part = s.getRow() < 0;
      int row = Math.abs(s.getRow());
      Map<String, Object> e =
          event("X", part ? "part: " + s.getPhase() : s.getPhase(), process, row, micros);
      e.put("cat", part ? "part" : "step");
      e.put("dur", s.getNanos() / 1e3);
      e.put("args", Map.of("step", Long.toString(s.getStep())));
      if (s.getStep() == 0) {
        continue;
      }
      Object[] place = {s.getStep(), process, row, micros};
      if (part) {
        parts.add(place);
      } else if (s.getPhase().equals(Phase.PUSH.label())) {
        pushes.merge(s.getStep(), place, (a, b) -> (double) a[3] <= (double) b[3] ? a : b);
      }
    }
  }

  private Map<String, Object> event(String kind, String name, int process, int row, double micros) {
    Map<String, Object> e = new LinkedHashMap<>();
    e.put("ph", kind);
    e.put("name", name);
    e.put("pid", process);
    e.put("tid", row);
    e.put("ts", micros);
    events.add(e);
    return e;
  }

  /** The whole as maps and lists. */
  public Map<String, Object> json() {
    Map<List<Object>, Object[]> last = new LinkedHashMap<>();
    for (Object[] part : parts) {
      last.merge(List.of(part[0], part[1]), part, (a, b) -> (double) a[3] >= (double) b[3] ? a : b);
    }
    last.forEach(
        (key, part) -> {
          Object[] push = pushes.get(key.getFirst());
          if (push != null) {
            String id = key.getFirst() + "/" + key.getLast();
            flow("s", id, push);
            flow("f", id, part);
          }
        });
    return Map.of("displayTimeUnit", "ns", "traceEvents", events);
  }

  private void flow(String kind, String id, Object[] at) {
    Map<String, Object> e = event(kind, "push to apply", (int) at[1], (int) at[2], (double) at[3]);
    e.put("cat", "flow");
    e.put("id", id);
    if (kind.equals("f")) {
      e.put("bp", "e");
    }
  }
}
