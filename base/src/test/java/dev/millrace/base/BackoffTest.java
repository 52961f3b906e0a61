package dev.millrace.base;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class BackoffTest {
  @Test
  void pausesGrowToTheLimitAndDiffer() {
    Backoff backoff =
        new Backoff(Platform.system(), Duration.ofNanos(1000), Duration.ofNanos(16_000));
    long whole = 1000;
    boolean differs = false;
    for (int i = 0; i < 64; i++) {
      long pause = backoff.nextNanos();
      assertTrue(pause >= whole / 2 && pause <= whole, "pause " + i + " is " + pause + " ns");
      differs |= pause != whole;
      whole = Math.min(2 * whole, 16_000);
    }
    assertTrue(differs, "no pause was shortened at random");
    backoff.reset();
    assertTrue(backoff.nextNanos() <= 1000, "after a reset pauses start from the first");
  }

  @Test
  void interruptEndsAPause() {
    Thread.currentThread().interrupt();
    long start = System.nanoTime();
    new Backoff(Platform.system(), Duration.ofMinutes(2), Duration.ofMinutes(2)).pause();
    assertTrue(Thread.interrupted());
    assertTrue(System.nanoTime() - start < Duration.ofSeconds(30).toNanos());
  }
}
