package dev.millrace.dashboard.watch;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.proto.TaskFacts;
import dev.millrace.proto.TaskSpan;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class StepTimelineTest {
  private static TaskSpan span(long nanos, long step, int row, String phase) {
    return TaskSpan.newBuilder()
        .setEpochNanos(1_700_000_000_000_000_000L + nanos)
        .setNanos(5_000)
        .setStep(step)
        .setRow(row)
        .setPhase(phase)
        .build();
  }

  @Test
  @SuppressWarnings("unchecked")
  void anArrowLeadsFromThePushOfAStepToItsLastPartElsewhere() {
    StepTimeline timeline = new StepTimeline();
    timeline.add(
        "worker/0",
        TaskFacts.newBuilder()
            .addSpans(span(1_000, 7, 1, "compute"))
            .addSpans(span(6_000, 7, 1, "push"))
            .build(),
        0);
    long ahead = 2_000_000_000L;
    timeline.add(
        "ps/0",
        TaskFacts.newBuilder()
            .addSpans(span(ahead + 2_000, 7, -3, "compute"))
            .addSpans(span(ahead + 8_000, 7, -3, "compute"))
            .addSpans(span(ahead + 9_000, 8, -3, "compute"))
            .build(),
        ahead);
    List<Map<String, Object>> events =
        (List<Map<String, Object>>) timeline.json().get("traceEvents");
    List<Map<String, Object>> flows =
        events.stream().filter(e -> e.get("name").equals("push to apply")).toList();
    assertEquals(2, flows.size(), flows.toString());
    assertEquals("s", flows.getFirst().get("ph"));
    assertEquals(1, flows.getFirst().get("pid"));
    assertEquals("f", flows.getLast().get("ph"));
    assertEquals(2, flows.getLast().get("pid"));
    assertEquals(flows.getFirst().get("id"), flows.getLast().get("id"));
    // By clocks that are aligned, the part begins 2 us after the push.
    assertEquals(
        2.0,
        (double) flows.getLast().get("ts") - (double) flows.getFirst().get("ts"),
        0.5,
        flows.toString());
  }
}
