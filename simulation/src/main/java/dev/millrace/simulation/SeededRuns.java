package dev.millrace.simulation;

import dev.millrace.base.config.Config;
import dev.millrace.base.config.TestSettings;
import java.util.function.LongUnaryOperator;

/**
 * Runs one test with many seeds, one after the other. A failure names the seed that repeats it.
 *
 * <p>No other test may run in the JVM meanwhile: a simulated thread that waits for a lock of the
 * JDK which a thread outside holds would see time pass. Test classes say {@code @Isolated}.
 */
public final class SeededRuns {
  private SeededRuns() {}

  /**
   * Runs {@code job} once for each of {@code count} seeds, or once with the seed of {@code
   * -Dmillrace.seed}. Every {@code repeat}th seed runs twice and must return the same hash; 0 for
   * none.
   *
   * @param job takes a seed, and returns the hash of what happened
   */
  public static void run(long first, int count, int repeat, LongUnaryOperator job) {
    Long only = Config.ofProcess().find(TestSettings.SEED).orElse(null);
    if (only != null) {
      runOnce(only, repeat > 0, job);
      return;
    }
    for (long seed = first; seed < first + count; seed++) {
      runOnce(seed, repeat > 0 && (seed - first) % repeat == 0, job);
    }
  }

  private static void runOnce(long seed, boolean twice, LongUnaryOperator job) {
    try {
      long hash = job.applyAsLong(seed);
      long again = twice ? job.applyAsLong(seed) : hash;
      if (again != hash) {
        throw new AssertionError("The same seed gave another history the second time.");
      }
    } catch (Throwable t) {
      throw new AssertionError("Repeat with -Dmillrace.seed=" + seed + ": " + t.getMessage(), t);
    }
  }
}
