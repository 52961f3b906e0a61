package dev.millrace.train.session;

import dev.millrace.base.Timers;
import dev.millrace.train.hook.SessionRunHook;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports a slow step: what it waits for, and which tasks of the cluster do not answer. Names a
 * task that does not answer within seconds, and reports any other slow step after {@link
 * #LONG_NANOS}. Also runs a check for failures that the step itself cannot notice.
 *
 * <p>Threading: the thread of the steps calls {@link #begin} and {@link #end}, the watch's own
 * thread looks on.
 */
final class StepWatch implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(StepWatch.class);
  private static final long SECOND = 1_000_000_000L;
  private static final long PROBE_AFTER_NANOS = 2 * SECOND;
  private static final Duration PROBE_LIMIT = Duration.ofSeconds(2);
  private static final long LONG_NANOS = 8 * SECOND;
  private static final long LONGEST_REPORT_NANOS = 60 * SECOND;

  /** The session under watch. */
  interface Subject {
    /** The tasks that do not answer within {@code limit}, with the reason. */
    Map<String, String> silentTasks(Duration limit);

    /** Ends the session if the step waits in vain. */
    void check();
  }

  private final List<SessionRunHook> hooks;
  private final Duration stepTimeout;
  private final Timers timers;
  private final Timers.Schedule timer;

  /** When the step under way began; 0 between steps. */
  private volatile long begun;

  /** The session under watch; null for none. */
  private volatile Subject subject;

  /** The tasks that did not answer the last probe during the current step. */
  private volatile Map<String, String> silent = Map.of();

  // State of the current step, touched by the watch's thread only.
  private long watched;
  private long nextReport;

  StepWatch(List<SessionRunHook> hooks, Duration stepTimeout, Timers timers) {
    this.timers = timers;
    this.hooks = hooks;
    this.stepTimeout = stepTimeout;
    timer = timers.schedule("millrace-step-watch");
    timer.every(SECOND, this::checkStepSafely);
  }

  void begin() {
    silent = Map.of();
    begun = timers.now() | 1;
  }

  void end() {
    begun = 0;
  }

  /** Watches {@code subject} from now on. */
  void watch(Subject subject) {
    this.subject = subject;
  }

  private void checkStepSafely() {
    try {
      checkStep();
    } catch (Throwable e) { // otherwise the timer would drop the task
      LOG.warn("Cannot check a slow step: {}", e.toString());
    }
  }

  private void checkStep() {
    long start = begun;
    Subject looked = subject;
    if (start == 0 || timers.now() - start < PROBE_AFTER_NANOS) {
      return;
    }
    if (start != watched) {
      watched = start;
      nextReport = start + LONG_NANOS;
    }
    Map<String, String> before = silent;
    Map<String, String> now = looked == null ? Map.of() : looked.silentTasks(PROBE_LIMIT);
    if (begun != start) {
      return;
    }
    silent = now;
    report(start, before);
    if (looked != null) {
      looked.check();
    }
  }

  private void report(long start, Map<String, String> before) {
    long now = timers.now();
    boolean news = !before.keySet().containsAll(silent.keySet());
    if (!news && now - nextReport < 0) {
      return;
    }
    // Less and less often: every 8 s in the first half minute, every minute from 4 minutes on.
    nextReport = now + Math.clamp((now - start) / 4, LONG_NANOS, LONGEST_REPORT_NANOS);
    LOG.warn(
        "A step has been running for {} s. {}{}",
        (now - start) / SECOND,
        state(),
        stepTimeout == null
            ? ""
            : " The step fails after " + stepTimeout.toSeconds() + " s (step timeout).");
  }

  /** What the current step waits for, as far as known. */
  String state() {
    List<String> reasons =
        hooks.stream().map(SessionRunHook::waitsFor).filter(Objects::nonNull).toList();
    String waits = reasons.isEmpty() ? "" : "It waits for " + String.join("; ", reasons) + ". ";
    Map<String, String> lost = silent;
    return lost.isEmpty()
        ? waits + "No task of the job is known to be lost."
        : waits
            + lost.entrySet().stream()
                .map(e -> e.getKey() + " does not answer (" + e.getValue() + ")")
                .collect(Collectors.joining(", "))
            + ": killed or paused? Start it again or continue it; training then goes on by itself.";
  }

  @Override
  public void close() {
    timer.close();
  }
}
