package dev.millrace.train.hook;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.runtime.trace.StepTrace;
import dev.millrace.train.variable.GraphVariable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Writes what ran when in a step, on all tasks of the cluster, to {@code timeline-STEP.json}, for
 * Chrome's trace viewer.
 */
public final class ProfilerHook implements SessionRunHook {
  private final GraphVariable step;
  private final Schedule schedule;
  private final Path folder;
  private long next;
  private boolean asked;

  /** Profiles a step on {@code schedule} and writes it to {@code folder}. */
  public ProfilerHook(GraphVariable globalStep, Schedule schedule, Path folder) {
    this.step = globalStep;
    this.schedule = schedule;
    this.folder = folder;
  }

  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    asked = schedule.isDue(next);
    SessionRunArgs args = SessionRunArgs.fetching(step.read());
    return asked ? args.withTrace() : args;
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    long now = values.value(step.read()).longValue() + 1;
    if (asked) {
      write(values.trace(), folder.resolve("timeline-" + now + ".json"));
      schedule.acted(now);
    }
    next = now + 1;
  }

  private static void write(StepTrace trace, Path file) {
    try {
      Files.createDirectories(file.getParent());
      Files.writeString(file, trace.toChromeTrace());
    } catch (IOException e) {
      // Not UNAVAILABLE: the step would be taken for one that lost a task, and run for ever.
      throw new MillraceException(Code.PERMISSION_DENIED, "Cannot write " + file + ": " + e, e);
    }
  }
}
