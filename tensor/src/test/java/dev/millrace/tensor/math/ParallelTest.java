package dev.millrace.tensor.math;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ParallelTest {
  private final int before = Parallel.threads();

  @BeforeEach
  void fourThreads() {
    Parallel.setThreads(4);
  }

  @AfterEach
  void asBefore() {
    Parallel.setThreads(before);
  }

  @Test
  void everyIndexIsVisitedOnce() {
    for (int n : new int[] {0, 1, 2, 3, 7, 64, 65, 1000, 1001}) {
      for (int grain : new int[] {1, 2, 16, 64, 5000}) {
        AtomicIntegerArray visits = new AtomicIntegerArray(n + 1);
        Parallel.run(
            n,
            grain,
            (from, to) -> {
              assertTrue(from < to && from % grain == 0, "range " + from + ".." + to);
              for (long i = from; i < to; i++) {
                visits.incrementAndGet((int) i);
              }
            });
        assertTrue(IntStream.range(0, n).allMatch(i -> visits.get(i) == 1), n + " by " + grain);
      }
    }
  }

  @Test
  void eachIndexIsVisitedOnceByWhoeverIsFree() {
    for (int n : new int[] {0, 1, 2, 3, 17, 1000}) {
      AtomicIntegerArray visits = new AtomicIntegerArray(n);
      Parallel.each(n, visits::incrementAndGet);
      for (int i = 0; i < n; i++) {
        assertEquals(1, visits.get(i), i + " of " + n);
      }
    }
  }

  @Test
  void briefLoopsVisitEveryIndexOnceAndFindHelp() {
    Set<Thread> workers = ConcurrentHashMap.newKeySet();
    assertTimeoutPreemptively(
        Duration.ofSeconds(20),
        () -> {
          while (workers.size() < 2) {
            AtomicIntegerArray visits = new AtomicIntegerArray(1000);
            Parallel.runBrief(
                1000,
                16,
                (from, to) -> {
                  workers.add(Thread.currentThread());
                  for (long i = from; i < to; i++) {
                    visits.incrementAndGet((int) i);
                  }
                });
            assertTrue(IntStream.range(0, 1000).allMatch(i -> visits.get(i) == 1));
          }
        },
        "no helper ever took part in a brief loop");
  }

  @Test
  void rangesDependOnTheNumbersOnly() {
    Set<String> first = ranges();
    for (int i = 0; i < 50; i++) {
      assertEquals(first, ranges());
    }
    assertEquals(4, first.size());
  }

  private static Set<String> ranges() {
    Set<String> ranges = ConcurrentHashMap.newKeySet();
    Parallel.run(1003, 16, (from, to) -> ranges.add(from + ".." + to));
    return ranges;
  }

  @Test
  void rangesRunAtTheSameTime() {
    CountDownLatch all = new CountDownLatch(4);
    Parallel.run(
        4,
        1,
        (from, to) -> {
          all.countDown();
          await(all);
        });
  }

  @Test
  void callsMayNest() {
    AtomicIntegerArray visits = new AtomicIntegerArray(400);
    Parallel.run(
        20,
        1,
        (from, to) -> {
          for (long i = from; i < to; i++) {
            long row = i * 20;
            Parallel.run(
                20,
                1,
                (a, b) -> {
                  for (long j = a; j < b; j++) {
                    visits.incrementAndGet((int) (row + j));
                  }
                });
          }
        });
    assertTrue(IntStream.range(0, 400).allMatch(i -> visits.get(i) == 1));
  }

  @Test
  void manyCallersAtOnceAllGetTheirOwnResult() throws Exception {
    try (var callers = Executors.newFixedThreadPool(16)) {
      Future<?>[] results = new Future<?>[16];
      for (int c = 0; c < results.length; c++) {
        results[c] =
            callers.submit(
                () -> {
                  for (int round = 0; round < 200; round++) {
                    long[] sums = new long[100];
                    Parallel.run(
                        100,
                        5,
                        (from, to) -> {
                          for (long i = from; i < to; i++) {
                            sums[(int) i] = i * i;
                          }
                        });
                    for (int i = 0; i < 100; i++) {
                      assertEquals((long) i * i, sums[i]);
                    }
                  }
                });
      }
      for (Future<?> r : results) {
        r.get(60, TimeUnit.SECONDS);
      }
    }
  }

  @Test
  void aFailureReachesTheCallerWhenAllHaveEnded() {
    RuntimeException boom = new RuntimeException("boom");
    CountDownLatch others = new CountDownLatch(3);
    RuntimeException thrown =
        assertThrows(
            RuntimeException.class,
            () ->
                Parallel.run(
                    4,
                    1,
                    (from, to) -> {
                      if (from == 2) {
                        throw boom;
                      }
                      others.countDown();
                    }));
    assertSame(boom, thrown);
    assertEquals(0, others.getCount());
  }

  @Test
  void aCallerThatSleepsIsWoken() {
    Parallel.setThreads(2);
    assertTimeoutPreemptively(
        Duration.ofSeconds(60),
        () -> {
          Thread caller = Thread.currentThread();
          CountDownLatch both = new CountDownLatch(2);
          Parallel.run(
              2,
              1,
              (from, to) -> {
                both.countDown();
                await(both);
                // The helper's range ends only after the caller has lost its patience.
                while (Thread.currentThread() != caller
                    && caller.getState() == Thread.State.RUNNABLE) {
                  Thread.onSpinWait();
                }
              });
        });
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(60, TimeUnit.SECONDS), "waited 60 s for the other ranges");
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
