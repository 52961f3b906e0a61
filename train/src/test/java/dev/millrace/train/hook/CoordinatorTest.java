package dev.millrace.train.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class CoordinatorTest {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final Coordinator threads = new Coordinator();

  @Test
  void firstFailureStopsAllAndIsTheOneThrown() throws InterruptedException {
    threads.start("waits", () -> assertTrue(threads.awaitStop(PATIENCE)));
    threads.start(
        "fails",
        () -> {
          throw MillraceException.invalid("first");
        });
    assertTrue(threads.awaitStop(PATIENCE), "nobody was stopped");
    threads.requestStop(MillraceException.invalid("second"));
    MillraceException e = assertThrows(MillraceException.class, () -> threads.join(PATIENCE));
    assertEquals("first", e.getMessage());
  }

  @Test
  void errorsStopAllToo() throws InterruptedException {
    threads.start(
        "fails",
        () -> {
          throw new AssertionError("wrong");
        });
    assertTrue(threads.awaitStop(PATIENCE), "nobody was stopped");
    assertTrue(threads.failure().getMessage().contains("wrong"));
  }
}
