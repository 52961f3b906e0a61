package dev.millrace.train.session;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Says so when a step takes very long, and what it may be waiting for: a step is never silent. And
 * has someone look after what such a step may not notice.
 *
 * <p>Threading: the thread of the steps calls {@link #begin} and {@link #end}, the watch's own
 * thread looks on.
 */
final class StepWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(StepWatch.class);
  private static final long PERIOD_SECONDS = 3;
  private static final long LONG_NANOS = 30_000_000_000L;
  private static final long REPORT_NANOS = 10_000_000_000L;

  private final List<SessionRunHook> hooks;
  private final ScheduledExecutorService timer;

  /** When the step under way began; 0 between steps. */
  private volatile long begun;

  /** What is done every few seconds of a step that takes long; null for nothing. */
  private volatile Runnable check;

  /** When the step under way was last spoken of. Touched by the watch's thread only. */
  private long reported = System.nanoTime();

  StepWatch(List<SessionRunHook> hooks) {
    this.hooks = hooks;
    timer =
        Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("millrace-step-watch").factory());
    timer.scheduleAtFixedRate(this::watch, PERIOD_SECONDS, PERIOD_SECONDS, TimeUnit.SECONDS);
  }

  void begin() {
    begun = System.nanoTime() | 1;
  }

  void end() {
    begun = 0;
  }

  /** Has {@code check} run now and then, by the watch's thread, while a step takes long. */
  void look(Runnable check) {
    this.check = check;
  }

  private void watch() {
    long start = begun;
    long now = System.nanoTime();
    long waited = now - start;
    if (start == 0 || waited < PERIOD_SECONDS * 1_000_000_000L) {
      return;
    }
    if (waited > LONG_NANOS && now - reported > REPORT_NANOS) {
      reported = now;
      List<String> reasons =
          hooks.stream().map(SessionRunHook::waitsFor).filter(Objects::nonNull).toList();
      LOG.warn(
          "A step has been running for {} s.{}",
          waited / 1_000_000_000L,
          reasons.isEmpty() ? "" : " It may be waiting for " + String.join("; ", reasons) + ".");
    }
    Runnable some = check;
    try {
      if (some != null) {
        some.run();
      }
    } catch (RuntimeException e) {
      LOG.debug("Looking after a step that takes long failed.", e);
    }
  }

  @Override
  public void close() {
    timer.shutdownNow();
  }
}
