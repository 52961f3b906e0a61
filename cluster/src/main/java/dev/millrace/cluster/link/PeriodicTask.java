package dev.millrace.cluster.link;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A periodic task that survives its own failures. It logs what the action throws and skips more and
 * more runs before the next attempt. A scheduled executor would drop a task that throws, silently.
 *
 * <p>Threading: one thread at a time.
 */
final class PeriodicTask implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(PeriodicTask.class);

  private final Runnable action;
  private final int maxSkipped;
  private int pause;
  private int left;

  /** Skips at most {@code maxSkipped} runs after a failure. */
  PeriodicTask(Runnable action, int maxSkipped) {
    this.action = action;
    this.maxSkipped = maxSkipped;
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
      pause = Math.clamp(2L * pause, 1, maxSkipped);
      left = pause;
      try {
        LOG.error("A periodic task failed; it runs again after {} skipped runs.", pause, t);
      } catch (Throwable again) {
        // Logging fails as well, most likely for lack of memory.
      }
    }
  }
}
