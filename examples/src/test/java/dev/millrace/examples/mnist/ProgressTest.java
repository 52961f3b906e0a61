package dev.millrace.examples.mnist;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

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
    assertEquals("step 100/100  loss 1.5000", text.strip());
    assertFalse(text.contains("\r") || text.contains("\033"), text);
  }

  @Test
  void aWorkerShowsItsPartOfTheSteps() {
    Progress p = progress(false).ofWorker();
    p.step(97, 1.5);
    p.step(99, 1.5);
    p.end(100);
    assertEquals(
        "step 100/100  loss 1.5000  2 own steps", bytes.toString(StandardCharsets.UTF_8).strip());
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

  @Test
  void whatIsLeftIsSaidOnceTheRateHasSettled() {
    AtomicLong seconds = new AtomicLong();
    Progress p =
        new Progress(
            new PrintStream(bytes, true, StandardCharsets.UTF_8),
            1000,
            false,
            false,
            () -> seconds.get() * 1_000_000_000L);
    for (int step : new int[] {1, 2, 22, 122, 222}) {
      seconds.addAndGet(2);
      p.step(step, 1.5);
    }
    assertEquals(
        List.of(
            "step 1/1000  loss 1.5000",
            "step 2/1000  loss 1.5000  1 steps/s",
            "step 22/1000  loss 1.5000  5 steps/s",
            "step 122/1000  loss 1.5000  28 steps/s",
            "step 222/1000  loss 1.5000  39 steps/s"),
        bytes.toString(StandardCharsets.UTF_8).lines().toList());
    seconds.addAndGet(2);
    p.step(312, 1.5);
    assertTrue(
        bytes.toString(StandardCharsets.UTF_8).endsWith("42 steps/s  16 s left\n"),
        bytes.toString(StandardCharsets.UTF_8));
  }
}
