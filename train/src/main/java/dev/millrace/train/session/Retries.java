package dev.millrace.train.session;

import dev.millrace.base.Backoff;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import java.time.Duration;

/**
 * Patience with a step that loses tasks again and again: longer and longer pauses between the
 * attempts, and an end once those that failed at once have taken too long together. How long tasks
 * take to come back does not count, as that has a limit of its own.
 */
final class Retries {
  /** An attempt that lasts longer than this was under way when something happened to it. */
  private static final long SOON_NANOS = 10_000_000_000L;

  private static final Duration FIRST_PAUSE = Duration.ofMillis(2);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(2);

  private final Duration limit;
  private final Timers timers;
  private final Backoff backoff;
  private long spentNanos;
  private long begun;

  Retries(Duration limit, Platform platform) {
    this.timers = platform.timers();
    this.backoff = new Backoff(platform, FIRST_PAUSE, LONGEST_PAUSE);
    this.limit = limit;
  }

  /** Another attempt begins now. */
  void begin() {
    begun = timers.now();
  }

  /** It has failed: returns after a pause if there may be one more. */
  void failed(MillraceException cause) {
    long took = timers.now() - begun;
    if (took > SOON_NANOS) {
      spentNanos = 0;
      backoff.reset();
    } else {
      spentNanos += took;
    }
    if (spentNanos > limit.toNanos()) {
      throw cause.withMessage(
          "The step loses tasks again and again, as soon as they are back. The last time: "
              + cause.getMessage());
    }
    long paused = timers.now();
    backoff.pause();
    spentNanos += timers.now() - paused;
  }
}
