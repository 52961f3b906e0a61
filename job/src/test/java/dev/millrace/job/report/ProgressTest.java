package dev.millrace.job.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ProgressTest {
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  private Progress progress(boolean terminal) {
    return new Progress(new PrintStream(bytes, true, StandardCharsets.UTF_8), 100, terminal);
  }

  @Test
  void linesElsewhereThanOnATerminalArePlain() {
    Progress p = progress(false);
    p.step(99, 1.5);
    p.end(101);
    String text = bytes.toString(StandardCharsets.UTF_8);
    assertEquals("step 99/100  loss 1.5000\nstep 100/100  loss 1.5000", text.strip());
    assertFalse(text.contains("\r") || text.contains("\033"), text);
  }

  @Test
  void aWorkerShowsItsPartOfTheSteps() {
    Progress p = progress(false).ofWorker();
    p.step(97, 1.5);
    p.step(99, 1.5);
    p.end(100);
    assertEquals(
        List.of("step 97/100  loss 1.5000  1 own steps", "step 100/100  loss 1.5000  2 own steps"),
        bytes.toString(StandardCharsets.UTF_8).lines().toList());
  }

  @Test
  void theFirstStepIsShownAtOnce() {
    Progress p = progress(false);
    p.step(1, 1.5);
    p.step(2, 1.5);
    assertEquals("step 1/100  loss 1.5000", bytes.toString(StandardCharsets.UTF_8).strip());
  }

  @Test
  void whoMadeNoStepHasNoLoss() {
    Progress p = progress(false).ofWorker();
    p.end(100);
    assertEquals("step 100/100  0 own steps", bytes.toString(StandardCharsets.UTF_8).strip());
  }

  @Test
  void lastStepIsShownOnce() {
    Progress p = progress(true);
    p.step(100, 1.5);
    p.end(100);
    String text = bytes.toString(StandardCharsets.UTF_8);
    assertEquals(1, text.split("step 100/100", -1).length - 1, text);
    // Neither wrapped where the terminal is narrow, nor does what comes later stay cut.
    assertTrue(text.startsWith("\r\033[?7lstep 100/100"), text);
    assertTrue(text.endsWith("\033[?7h\n"), text);
  }

  /** On a terminal, too, where lines are so close that each is like the one before. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whatIsLeftIsSaidOnceTheRateHasSettled(boolean terminal) {
    AtomicLong nanos = new AtomicLong();
    Progress p =
        new Progress(
            new PrintStream(bytes, true, StandardCharsets.UTF_8),
            1000,
            terminal,
            false,
            nanos::get);
    // Stretches of 2 s in which 10, 20, 40 and 80 steps are made, then 90 and again.
    int step = 0;
    for (int made : new int[] {10, 20, 40, 80}) {
      for (int i = 0; i < made; i++) {
        nanos.addAndGet(2_000_000_000L / made);
        p.step(++step, 1.5);
      }
      assertFalse(bytes.toString(StandardCharsets.UTF_8).contains("left"), made + " steps");
    }
    for (int i = 0; i < 200; i++) {
      nanos.addAndGet(2_000_000_000L / 90);
      p.step(++step, 1.5);
    }
    assertTrue(bytes.toString(StandardCharsets.UTF_8).contains(" s left"));
  }
}
