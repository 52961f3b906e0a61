package dev.millrace.train.hook;

import dev.millrace.runtime.Session;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.variable.GraphVariable;

/** Ends training when the global step reaches a number, whichever task makes that step. */
public final class StopAtStepHook implements SessionRunHook {
  private final GraphVariable step;
  private final long more;
  private long last;

  private StopAtStepHook(GraphVariable step, long more, long last) {
    this.step = step;
    this.more = more;
    this.last = last;
  }

  /** Ends training at step {@code last}. */
  public static StopAtStepHook at(GraphVariable globalStep, long last) {
    return new StopAtStepHook(globalStep, 0, last);
  }

  /** Ends training {@code more} steps after where it starts, as restored. */
  public static StopAtStepHook after(GraphVariable globalStep, long more) {
    return new StopAtStepHook(globalStep, more, -1);
  }

  @Override
  public void afterCreateSession(Session session, Coordinator coordinator) {
    if (last < 0) {
      last = GlobalStep.now(session, step) + more;
    }
  }

  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    return SessionRunArgs.fetching(step.read());
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    // The step's own update may not be in what it fetched.
    if (values.value(step.read()).longValue() + 1 >= last
        && GlobalStep.now(context.session(), step) >= last) {
      context.requestStop();
    }
  }
}
