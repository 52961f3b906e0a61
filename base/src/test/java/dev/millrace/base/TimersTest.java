package dev.millrace.base;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Test;

class TimersTest {
  private static final long SHORT = 1_000_000L;
  private static final long LONG = 60_000_000_000L;
  private final Timers timers = Timers.system();

  @Test
  void waitsEndAtTheirDeadline() throws Exception {
    long start = timers.now();
    CompletableFuture<String> never = new CompletableFuture<>();
    assertThrows(TimeoutException.class, () -> timers.get(never, SHORT));
    assertFalse(timers.await(new CountDownLatch(1), SHORT));
    assertNull(timers.poll(new LinkedBlockingQueue<>(), SHORT));
    assertFalse(timers.tryAcquire(new Semaphore(0), SHORT));
    assertFalse(timers.join(Thread.currentThread(), SHORT));
    timers.sleep(SHORT);
    assertTrue(timers.since(start) >= 6 * SHORT);
  }

  @Test
  void waitsEndWhenWhatTheyWaitForHappens() throws Exception {
    assertEquals("a", timers.get(CompletableFuture.completedFuture("a"), LONG));
    assertTrue(timers.await(new CountDownLatch(0), LONG));
    assertEquals(1, timers.poll(new LinkedBlockingQueue<>(java.util.List.of(1)), LONG));
    assertTrue(timers.tryAcquire(new Semaphore(1), LONG));
    assertTrue(timers.tryLock(new ReentrantLock(), LONG));
  }

  @Test
  void actionsRunLaterUnlessCancelled() throws Exception {
    CountDownLatch ran = new CountDownLatch(1);
    Timers.Timer never = timers.later(LONG, () -> {});
    timers.later(SHORT, ran::countDown);
    assertTrue(timers.await(ran, LONG));
    assertTrue(never.cancel());
    assertFalse(never.cancel());
  }

  @Test
  void aScheduleRepeatsUntilClosed() throws Exception {
    CountDownLatch thrice = new CountDownLatch(3);
    AtomicInteger runs = new AtomicInteger();
    Timers.Schedule schedule = timers.schedule("test-schedule");
    schedule.every(
        SHORT,
        () -> {
          runs.incrementAndGet();
          thrice.countDown();
        });
    assertTrue(timers.await(thrice, LONG));
    schedule.close();
    assertTrue(schedule.awaitIdle(LONG));
    int sofar = runs.get();
    assertFalse(schedule.later(0, runs::incrementAndGet).cancel());
    assertEquals(sofar, runs.get());
  }
}
