package dev.millrace.job.report;

import dev.millrace.graph.Output;
import dev.millrace.train.hook.SessionRunArgs;
import dev.millrace.train.hook.SessionRunContext;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.SessionRunValues;

/** Shows every step. */
public record ProgressHook(Progress progress, Output loss, Output step) implements SessionRunHook {
  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    return SessionRunArgs.fetching(loss, step);
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    progress.step(values.value(step).longValue(), values.value(loss).doubleValue());
  }
}
