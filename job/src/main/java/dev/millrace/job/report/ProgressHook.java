package dev.millrace.job.report;

import dev.millrace.base.context.Context;
import dev.millrace.graph.Output;
import dev.millrace.runtime.Session;
import dev.millrace.train.hook.Coordinator;
import dev.millrace.train.hook.SessionRunArgs;
import dev.millrace.train.hook.SessionRunContext;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.SessionRunValues;

/** Shows every step. */
public record ProgressHook(Progress progress, Output loss, Output step) implements SessionRunHook {
  /** Shows the figures to whoever watches the job, beside the lines of this process. */
  @Override
  public void afterCreateSession(Session session, Coordinator coordinator) {
    progress.show(Context.current().gauges());
  }

  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    return SessionRunArgs.fetching(loss, step);
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    progress.step(values.value(step).longValue(), values.value(loss).doubleValue());
  }
}
