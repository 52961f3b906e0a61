package dev.millrace.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Timers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Test;

class SimulationTest {
  private static final Duration LIMIT = Duration.ofHours(3);
  private static final long SECOND = 1_000_000_000L;

  /** Code that may throw anything. */
  @FunctionalInterface
  private interface Body {
    void run(Timers timers) throws Exception;
  }

  /** Runs one thread of one process to its end and throws what it threw. */
  private static Simulation run(Body body) {
    Simulation s = new Simulation(1);
    SimulatedProcess p = s.process("p");
    List<Throwable> thrown = new ArrayList<>();
    Thread t =
        p.start(
            "main",
            () -> {
              try {
                body.run(p.timers());
              } catch (Throwable e) {
                thrown.add(e);
              }
            });
    s.runUntil(() -> !t.isAlive(), LIMIT);
    thrown.forEach(e -> assertNull(e, () -> "thrown by the thread: " + e));
    return s;
  }

  @Test
  void anHourOfSleepTakesAnHourOfSimulatedTime() {
    run(
        timers -> {
          long start = timers.now();
          timers.sleep(Duration.ofHours(1));
          assertEquals(3600 * SECOND, timers.since(start));
        });
  }

  @Test
  void everyTimedWaitEndsAtItsLimitAndLeavesNoInterrupt() {
    run(
        timers -> {
          long start = timers.now();
          assertThrows(TimeoutException.class, () -> timers.get(new CompletableFuture<>(), SECOND));
          assertFalse(timers.await(new CountDownLatch(1), SECOND));
          assertNull(timers.poll(new LinkedBlockingQueue<String>(), SECOND));
          assertFalse(timers.tryAcquire(new Semaphore(0), SECOND));
          ReentrantLock lock = new ReentrantLock();
          lock.lock();
          timers.await(lock.newCondition(), SECOND);
          timers.park(this, SECOND);
          assertEquals(6 * SECOND, timers.since(start));
          assertFalse(Thread.currentThread().isInterrupted());
        });
  }

  @Test
  void aTimedWaitEndsEarlyWithWhatItWaitedFor() {
    Simulation s = new Simulation(2);
    SimulatedProcess p = s.process("p");
    CompletableFuture<String> future = new CompletableFuture<>();
    List<String> got = new ArrayList<>();
    Thread waits =
        p.start(
            "waits",
            () -> {
              try {
                got.add(p.timers().get(future, 10 * SECOND) + " at " + p.timers().now());
              } catch (Exception e) {
                got.add(e.toString());
              }
            });
    long start = s.now();
    p.timers().later(2 * SECOND, () -> future.complete("it"));
    s.runUntil(() -> !waits.isAlive(), LIMIT);
    assertEquals(List.of("it at " + (start + 2 * SECOND)), got);
  }

  @Test
  void anInterruptByAnotherThreadIsNoTimeout() {
    Simulation s = new Simulation(3);
    SimulatedProcess p = s.process("p");
    List<String> ends = new ArrayList<>();
    Thread sleeper =
        p.start(
            "sleeper",
            () -> {
              try {
                p.timers().sleep(10 * SECOND);
                ends.add("slept");
              } catch (InterruptedException e) {
                ends.add("interrupted");
              }
            });
    s.after(Duration.ofSeconds(1), sleeper::interrupt);
    s.runUntil(() -> !sleeper.isAlive(), LIMIT);
    assertEquals(List.of("interrupted"), ends);
  }

  @Test
  void aScheduleRepeatsUntilItIsClosed() {
    int[] count = new int[1];
    run(
        timers -> {
          Timers.Schedule schedule = timers.schedule("beats");
          schedule.every(SECOND, () -> count[0]++);
          timers.sleep(10 * SECOND + 1);
          schedule.close();
          timers.sleep(10 * SECOND);
        });
    assertEquals(10, count[0]);
  }

  @Test
  void aPausedProcessGoesOnWhereItWasAndAKilledOneNever() {
    Simulation s = new Simulation(4);
    long start = s.now();
    SimulatedProcess p = s.process("p");
    List<Long> woke = new ArrayList<>();
    Thread t =
        p.start(
            "sleeper",
            () -> {
              try {
                p.timers().sleep(SECOND);
                woke.add(p.timers().now() - start);
                p.timers().sleep(SECOND);
                woke.add(-1L);
              } catch (InterruptedException e) {
                woke.add(-2L);
              }
            });
    s.after(Duration.ofMillis(500), p::pause);
    s.after(Duration.ofSeconds(5), p::resume);
    s.after(Duration.ofMillis(5500), p::kill);
    boolean[] over = new boolean[1];
    s.after(Duration.ofSeconds(60), () -> over[0] = true);
    s.runUntil(() -> over[0], LIMIT);
    assertEquals(List.of(5 * SECOND), woke);
    assertTrue(t.isAlive());
  }

  @Test
  void aThreadThatNeverEndsIsNamedWithWhatItWaitsFor() {
    AssertionError e =
        assertThrows(AssertionError.class, () -> run(timers -> new CountDownLatch(1).await()));
    assertTrue(e.getMessage().contains("p: main WAITING"), e.getMessage());
    assertTrue(e.getMessage().contains("CountDownLatch.await"), e.getMessage());
  }

  @Test
  void theSeedDecidesWhichThreadIsNext() {
    assertEquals(order(5), order(5));
    assertEquals(order(6), order(6));
    assertNotEquals(order(5), order(6));
  }

  private static String order(long seed) {
    Simulation s = new Simulation(seed);
    SimulatedProcess p = s.process("p");
    StringBuilder order = new StringBuilder();
    for (int i = 0; i < 10; i++) {
      String name = Integer.toString(i);
      p.start(
          name,
          () -> {
            order.append(name);
            Thread.yield();
            order.append(name);
          });
    }
    s.runUntil(() -> p.threads().isEmpty(), LIMIT);
    return order + " " + s.historyHash();
  }
}
