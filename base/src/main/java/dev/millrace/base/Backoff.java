package dev.millrace.base;

import java.time.Duration;

/**
 * Exponential backoff with jitter. Each pause is twice as long as the one before, up to a limit,
 * and shortened at random by up to half: tasks that failed together do not retry together.
 *
 * <p>Threading: one thread at a time.
 */
public final class Backoff {
  private final Platform platform;
  private final long firstNanos;
  private final long longestNanos;
  private long nextNanos;

  /** Pauses that grow from {@code first} to {@code longest}. */
  public Backoff(Platform platform, Duration first, Duration longest) {
    this.platform = platform;
    this.firstNanos = first.toNanos();
    this.longestNanos = longest.toNanos();
    this.nextNanos = firstNanos;
  }

  /** The length of the next pause; the one after it is longer. */
  public long nextNanos() {
    long whole = nextNanos;
    nextNanos = Math.min(2 * whole, longestNanos);
    return whole - platform.random().nextLong(whole / 2 + 1);
  }

  /** Pauses the calling thread; ends early if the thread is interrupted. */
  public void pause() {
    Timers timers = platform.timers();
    long end = timers.now() + nextNanos();
    for (long left = end - timers.now();
        left > 0 && !Thread.currentThread().isInterrupted();
        left = end - timers.now()) {
      timers.park(this, left);
    }
  }

  /** Starts again from the first, shortest pause. */
  public void reset() {
    nextNanos = firstNanos;
  }
}
