package dev.millrace.runtime.exec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.Timers;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.SessionOptions;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class RunningStepsTest {
  private static Step step(Cancellation cancellation, Duration limit) {
    return new Step(
        7, new LocalRendezvous(), cancellation, new Tensor[0], 0, null, limit, Timers.system());
  }

  // README claim: hang-session
  @Test
  void aStepHasALimitOfTenMinutesByDefault() {
    assertEquals(Duration.ofMinutes(10), SessionOptions.DEFAULT.stepTimeout());
    assertNull(RunOptions.DEFAULT.timeout(), "a run that names none has its session's");
  }

  @Test
  void aStepEndsWhenALongLimitHasPassed() {
    RunningSteps running = new RunningSteps(Timers.system());
    Step limited = step(new Cancellation(), Duration.ofMinutes(10));
    Step unlimited = step(new Cancellation(), null);
    try (var _ = running.add(limited);
        var _ = running.add(unlimited)) {
      long now = System.nanoTime();
      running.checkDeadlines(now + Duration.ofMinutes(9).toNanos());
      assertNull(limited.failure());
      running.checkDeadlines(now + Duration.ofMinutes(11).toNanos());
      assertEquals(Code.DEADLINE_EXCEEDED, limited.failure().code());
      assertEquals(
          "Step 7 took longer than its timeout of 600000 ms.", limited.failure().getMessage());
      assertNull(unlimited.failure());
    }
    assertTrue(running.isEmpty());
  }

  @Test
  void aStepEndsWhenAShortLimitHasPassed() throws InterruptedException {
    RunningSteps running = new RunningSteps(Timers.system());
    CountDownLatch ended = new CountDownLatch(1);
    Cancellation cancellation = new Cancellation();
    cancellation.onCancel(ended::countDown);
    Step limited = step(cancellation, Duration.ofMillis(20));
    try (var _ = running.add(limited)) {
      assertTrue(ended.await(60, TimeUnit.SECONDS), "nobody has ended it");
      assertEquals(Code.DEADLINE_EXCEEDED, limited.failure().code());
    }
  }

  @Test
  void aStepThatHasEndedIsLeftAlone() {
    RunningSteps running = new RunningSteps(Timers.system());
    Step over = step(new Cancellation(), Duration.ofMinutes(10));
    running.add(over).close();
    running.checkDeadlines(System.nanoTime() + Duration.ofMinutes(11).toNanos());
    running.failAll(StepFailures::cancelledByClose);
    assertNull(over.failure());
    Step underWay = step(new Cancellation(), null);
    running.add(underWay);
    running.failAll(StepFailures::cancelledByClose);
    assertEquals(Code.CANCELLED, underWay.failure().code());
    assertFalse(running.isEmpty());
  }
}
