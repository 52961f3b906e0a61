package dev.millrace.collective.testing;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs the ranks of a job as threads of the test. */
public final class Ranks {
  private static final long DEADLINE_SECONDS = 60;

  private Ranks() {}

  /** What one rank does. */
  @FunctionalInterface
  public interface Body<T> {
    void run(int rank, T of) throws Exception;
  }

  /** Runs {@code body} for every rank at the same time and throws the first error of any. */
  public static <T> void run(List<T> ranks, Body<T> body) {
    Throwable first = null;
    for (Throwable t : outcomes(ranks, body)) {
      first = first == null ? t : first;
    }
    if (first != null) {
      throw new AssertionError(first.toString(), first);
    }
  }

  /** Runs {@code body} for every rank and returns what each threw, null for those that did not. */
  public static <T> List<Throwable> outcomes(List<T> ranks, Body<T> body) {
    Throwable[] thrown = new Throwable[ranks.size()];
    List<Thread> threads = new ArrayList<>();
    for (int r = 0; r < thrown.length; r++) {
      int rank = r;
      threads.add(
          Thread.ofPlatform()
              .daemon()
              .name("rank-" + r)
              .start(
                  () -> {
                    try {
                      body.run(rank, ranks.get(rank));
                    } catch (Throwable t) {
                      thrown[rank] = t;
                    }
                  }));
    }
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_SECONDS);
    for (Thread t : threads) {
      try {
        t.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime())));
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      assertTrue(!t.isAlive(), () -> t.getName() + " still runs: " + List.of(t.getStackTrace()));
    }
    return java.util.Arrays.asList(thrown);
  }
}
