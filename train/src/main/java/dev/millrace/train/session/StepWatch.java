package dev.millrace.train.session;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Says so when a step takes very long, and what it may be waiting for: a step is never silent.
 *
 * <p>Threading: the thread of the steps calls {@link #begin} and {@link #end}, the watch's own
 * thread looks on.
 */
final class StepWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(StepWatch.class);
  private static final long PERIOD_SECONDS = 10;
  private static final long LONG_NANOS = 30_000_000_000L;

  private final List<SessionRunHook> hooks;
  private final ScheduledExecutorService timer;

  /** When the step under way began; 0 between steps. */
  private volatile long begun;

  StepWatch(List<SessionRunHook> hooks) {
    this.hooks = hooks;
    timer =
        Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("millrace-step-watch").factory());
    timer.scheduleAtFixedRate(this::look, PERIOD_SECONDS, PERIOD_SECONDS, TimeUnit.SECONDS);
  }

  void begin() {
    begun = System.nanoTime() | 1;
  }

  void end() {
    begun = 0;
  }

  private void look() {
    long start = begun;
    long waited = System.nanoTime() - start;
    if (start != 0 && waited > LONG_NANOS) {
      List<String> reasons =
          hooks.stream().map(SessionRunHook::waitsFor).filter(Objects::nonNull).toList();
      LOG.warn(
          "A step has been running for {} s.{}",
          waited / 1_000_000_000L,
          reasons.isEmpty() ? "" : " It may be waiting for " + String.join("; ", reasons) + ".");
    }
  }

  @Override
  public void close() {
    timer.shutdownNow();
  }
}
