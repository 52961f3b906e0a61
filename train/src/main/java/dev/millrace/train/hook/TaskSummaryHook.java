package dev.millrace.train.hook;

import dev.millrace.storage.record.EventWriter;
import dev.millrace.train.variable.GraphVariable;
import java.util.List;

/**
 * Writes what one task measures: the steps it makes in a second, and the figures of its other
 * hooks, by the global step. In TensorBoard the tasks are runs beside each other.
 */
public final class TaskSummaryHook implements SessionRunHook {
  private final GraphVariable step;
  private final List<SessionRunHook> hooks;
  private final Schedule schedule;
  private final EventWriter events;
  private long made;
  private long madeBefore;

  /** Writes what {@code hooks} measure whenever so many global steps have been made. */
  public TaskSummaryHook(
      GraphVariable globalStep, List<SessionRunHook> hooks, long everySteps, EventWriter events) {
    this.step = globalStep;
    this.hooks = List.copyOf(hooks);
    this.schedule = Schedule.everySteps(everySteps);
    this.events = events;
  }

  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    return SessionRunArgs.fetching(step.read());
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    made++;
    long now = values.value(step.read()).longValue() + 1;
    if (!schedule.isDue(now)) {
      return;
    }
    if (schedule.hasActed()) {
      double rate = (made - madeBefore) / schedule.secondsSince();
      events.addScalar("own_steps/sec", (float) rate, now);
      hooks.forEach(h -> h.figures((name, x) -> events.addScalar(name, x.floatValue(), now)));
    }
    madeBefore = made;
    schedule.acted(now);
  }
}
