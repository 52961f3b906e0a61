package dev.millrace.cluster.link;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Something done again and again by a timer. Whatever it throws is logged, and it is tried again
 * after longer and longer pauses: a timer drops what throws, for good and without a word.
 *
 * <p>Threading: one thread at a time.
 */
final class Recurring implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(Recurring.class);

  private final Runnable action;
  private final int longestPause;
  private int pause;
  private int left;

  /** At most {@code longestPause} turns are left out between two tries that fail. */
  Recurring(Runnable action, int longestPause) {
    this.action = action;
    this.longestPause = longestPause;
  }

  @Override
  public void run() {
    if (left > 0) {
      left--;
      return;
    }
    try {
      action.run();
      pause = 0;
    } catch (Throwable t) {
      pause = Math.clamp(2L * pause, 1, longestPause);
      left = pause;
      try {
        LOG.error("What is done again and again has failed, and is tried again.", t);
      } catch (Throwable again) {
        // No memory to say so, most likely.
      }
    }
  }
}
