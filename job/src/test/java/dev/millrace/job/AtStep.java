package dev.millrace.job;

import dev.millrace.train.hook.SessionRunContext;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.SessionRunValues;
import java.util.concurrent.CompletableFuture;

/** Says when a task has made a number of steps. */
final class AtStep implements SessionRunHook {
  private final int steps;
  private final CompletableFuture<Void> reached;
  private int made;

  AtStep(int steps, CompletableFuture<Void> reached) {
    this.steps = steps;
    this.reached = reached;
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    if (++made >= steps) {
      reached.complete(null);
    }
  }
}
