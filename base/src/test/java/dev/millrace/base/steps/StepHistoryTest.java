package dev.millrace.base.steps;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Timers;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class StepHistoryTest {
  private static final long MILLI = 1_000_000L;
  private static final long SECOND = 1000 * MILLI;
  private static final long EPOCH = 1_700_000_000L;

  private final AtomicLong now = new AtomicLong();
  private final StepHistory history = new StepHistory(clock());
  private final StepClock clock = history.newClock();

  /** A clock that the test moves. */
  private Timers clock() {
    return (Timers)
        Proxy.newProxyInstance(
            Timers.class.getClassLoader(),
            new Class<?>[] {Timers.class},
            (_, method, _) ->
                switch (method.getName()) {
                  case "now" -> now.get() + 1;
                  case "wallTime" -> Instant.ofEpochSecond(EPOCH);
                  default -> throw new UnsupportedOperationException(method.getName());
                });
  }

  private void pass(long millis) {
    now.addAndGet(millis * MILLI);
  }

  private StepHistory.Second only() {
    List<StepHistory.Second> seconds = history.after(0);
    assertEquals(1, seconds.size());
    return seconds.getFirst();
  }

  @Test
  void phasesOfAStepAddUpToItsTime() {
    clock.begin();
    pass(3);
    Phase before = clock.enter(Phase.INPUT);
    pass(5);
    clock.enter(Phase.PULL, "/job:ps/replica:0/task:0");
    pass(7);
    clock.enter(Phase.COMPUTE);
    pass(11);
    clock.enter(before);
    clock.examples(64);
    clock.end();
    assertEquals(0, history.after(0).size(), "a second that is not over is not told");
    pass(1000);
    StepHistory.Second s = only();
    assertEquals(EPOCH, s.epochSecond());
    assertEquals(1, s.get(Figure.STEPS));
    assertEquals(64, s.get(Figure.EXAMPLES));
    assertEquals(5 * MILLI, s.get(Figure.INPUT));
    assertEquals(7 * MILLI, s.get(Figure.PULL));
    assertEquals(11 * MILLI, s.get(Figure.COMPUTE));
    assertEquals(3 * MILLI, s.get(Figure.OTHER));
    assertEquals(26 * MILLI, s.get(Figure.LONGEST));
    assertEquals(Map.of("/job:ps/replica:0/task:0", 7 * MILLI), history.waits());
  }

  @Test
  void timeBetweenTwoStepsIsInput() {
    clock.begin();
    pass(1);
    clock.end();
    pass(20);
    clock.begin();
    pass(2);
    clock.end();
    pass(1000);
    StepHistory.Second s = only();
    assertEquals(2, s.get(Figure.STEPS));
    assertEquals(20 * MILLI, s.get(Figure.INPUT));
    assertEquals(3 * MILLI, s.get(Figure.OTHER));
  }

  @Test
  void whatIsEnteredInAHeldPhaseCountsAsThatPhase() {
    clock.begin();
    Phase before = clock.hold(Phase.SAVE);
    clock.enter(Phase.PULL, "/job:ps/replica:0/task:0");
    pass(9);
    clock.release(before);
    clock.end();
    pass(1000);
    assertEquals(9 * MILLI, only().get(Figure.SAVE));
    assertEquals(Map.of(), history.waits());
  }

  @Test
  void aStepThatFailedIsNotCounted() {
    clock.begin();
    pass(9);
    clock.abandon();
    assertNull(history.phase());
    pass(1000);
    assertEquals(0, only().get(Figure.STEPS));
  }

  @Test
  void whatAStepDoesNowIsTold() {
    assertNull(history.phase());
    clock.begin();
    clock.enter(Phase.WAIT);
    pass(4000);
    assertEquals(Phase.WAIT, history.phase());
    assertEquals(4 * SECOND, history.phaseNanos());
    clock.end();
    assertNull(history.phase());
  }

  @Test
  void partsOfOthersAreCountedWithTheirQueue() {
    StepClock first = history.beginPart();
    StepClock second = history.beginPart();
    pass(2);
    first.enter(Phase.PULL, "/job:worker/replica:0/task:0");
    pass(3);
    history.endPart(first);
    history.endPart(second);
    pass(1000);
    StepHistory.Second s = only();
    assertEquals(2, s.get(Figure.PARTS));
    assertEquals(2, s.get(Figure.QUEUE));
    assertEquals(7 * MILLI, s.get(Figure.PARTS_RUN));
    assertEquals(3 * MILLI, s.get(Figure.PARTS_WAIT));
    assertEquals(0, s.get(Figure.STEPS));
  }

  @Test
  void phasesAreRecordedOneByOneOnDemand() {
    clock.begin();
    clock.end();
    assertEquals(List.of(), history.recorded());
    history.record(Duration.ofMillis(50));
    clock.begin();
    clock.step(77);
    clock.enter(Phase.COMPUTE);
    pass(4);
    clock.enter(Phase.PUSH, "/job:ps/replica:0/task:0");
    pass(6);
    clock.end();
    StepClock part = history.beginPart();
    part.step(77);
    pass(1);
    history.endPart(part);
    pass(60);
    clock.begin();
    pass(3);
    clock.end();
    List<StepHistory.Span> spans = history.recorded();
    assertEquals(
        List.of(Phase.COMPUTE, Phase.PUSH, Phase.COMPUTE),
        spans.stream().map(StepHistory.Span::phase).toList());
    assertEquals(6 * MILLI, spans.get(1).nanos());
    assertEquals(6 * MILLI, spans.get(2).epochNanos() - spans.get(1).epochNanos());
    assertTrue(spans.stream().allMatch(s -> s.step() == 77));
    assertTrue(spans.get(1).row() > 0 && spans.get(2).row() < 0);
  }

  @Test
  void onlyTheLastMinutesAreKept() {
    for (int i = 0; i < StepHistory.SECONDS + 100; i++) {
      history.add(Figure.CPU, i);
      pass(1000);
    }
    List<StepHistory.Second> seconds = history.after(0);
    assertEquals(StepHistory.SECONDS - 1, seconds.size());
    assertEquals(StepHistory.SECONDS + 99, seconds.getLast().get(Figure.CPU));
    assertEquals(101, seconds.getFirst().get(Figure.CPU));
    long after = seconds.get(seconds.size() - 3).epochSecond();
    assertEquals(2, history.after(after).size());
    pass(10_000 * 1000L);
    assertEquals(0, history.after(0).getLast().get(Figure.CPU));
  }
}
