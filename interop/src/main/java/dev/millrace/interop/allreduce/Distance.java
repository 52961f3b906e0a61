package dev.millrace.interop.allreduce;

import dev.millrace.base.Timers;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * How far apart the processors are: the nanoseconds in which a cache line goes from one to another
 * and back. A virtual machine's processors are moved by its host, within seconds and without a
 * trace: 40 ns were seen where both were one core, 90 to 130 where they shared a cache and 500
 * where they did not, and with these an all-reduce over TCP took 150 or 700 us. So a measurement
 * counts only if the distance was the usual one before it and after it.
 */
final class Distance {
  private static final int TRIPS = 1000;
  private static final int TRIES = 5;
  private static final int THERE = 32;
  private static final int BACK = 64;
  private static final int LOOKS = 40;
  private static final double TOLERANCE = 1.6;

  /** How long the usual distance is waited for before a turn counts as it is. */
  private static final long PATIENCE_NANOS = 30_000_000_000L;

  private static final long PAUSE_MILLIS = 50;

  private final double usualNanos;
  private int repeated;
  private int unusual;

  private Distance(double usualNanos) {
    this.usualNanos = usualNanos;
  }

  /** Takes this for the usual distance. */
  static Distance of(double nanos) {
    return new Distance(nanos);
  }

  /** Looks for some seconds what is usual here: near, but not the rare nearest. */
  static Distance usual() {
    double[] seen = new double[LOOKS];
    for (int i = 0; i < LOOKS; i++) {
      seen[i] = nanos();
      pause();
    }
    Arrays.sort(seen);
    return new Distance(seen[LOOKS / 4]);
  }

  /** A measurement, taken again where the processors were not as far apart as they usually are. */
  <T, E extends Exception> T steady(Measurement<T, E> measurement) throws E {
    long start = Timers.system().now();
    while (Timers.system().now() - start < PATIENCE_NANOS) {
      if (isUsual()) {
        T result = measurement.take();
        if (isUsual()) {
          return result;
        }
      }
      repeated++;
      pause();
    }
    unusual++;
    return measurement.take();
  }

  /** Something measured. */
  interface Measurement<T, E extends Exception> {
    T take() throws E;
  }

  private boolean isUsual() {
    double n = nanos();
    return n < TOLERANCE * usualNanos && n > usualNanos / TOLERANCE;
  }

  @Override
  public String toString() {
    return "The processors were %.0f ns apart; %d turns were taken again, %d count though they were not."
        .formatted(usualNanos, repeated, unusual);
  }

  private static double nanos() {
    // The words are in cache lines of their own.
    AtomicLongArray words = new AtomicLongArray(BACK + THERE);
    long all = (long) TRIPS * TRIES;
    CompletableFuture<Void> other =
        CompletableFuture.runAsync(
            () -> {
              for (long i = 1; i <= all; i++) {
                while (words.get(THERE) < i) {
                  Thread.onSpinWait();
                }
                words.set(BACK, i);
              }
            },
            r -> Thread.ofPlatform().daemon().start(r));
    double best = Double.MAX_VALUE;
    long n = 0;
    for (int t = 0; t < TRIES; t++) {
      long start = Timers.system().now();
      for (int i = 0; i < TRIPS; i++) {
        words.set(THERE, ++n);
        while (words.get(BACK) < n) {
          Thread.onSpinWait();
        }
      }
      best = Math.min(best, (double) (Timers.system().now() - start) / TRIPS);
    }
    other.join();
    return best;
  }

  private static void pause() {
    try {
      Timers.system().sleep(Duration.ofMillis(PAUSE_MILLIS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
