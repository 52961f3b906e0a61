package dev.millrace.train.hook;

import dev.millrace.storage.record.EventWriter;
import dev.millrace.train.variable.GraphVariable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs how many steps are made per second, by all tasks, and writes it to an event file. */
public final class StepCounterHook implements SessionRunHook {
  private static final Logger LOG = LoggerFactory.getLogger(StepCounterHook.class);

  private final GraphVariable step;
  private final Schedule schedule;
  private final EventWriter events;
  private double rate = Double.NaN;

  /** Every {@code everySteps} steps; {@code events} may be null. */
  public StepCounterHook(GraphVariable globalStep, long everySteps, EventWriter events) {
    this.step = globalStep;
    this.schedule = Schedule.everySteps(everySteps);
    this.events = events;
  }

  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    return SessionRunArgs.fetching(step.read());
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    long now = values.value(step.read()).longValue() + 1;
    if (!schedule.isDue(now)) {
      return;
    }
    if (schedule.hasActed()) {
      rate = (now - schedule.lastStep()) / schedule.secondsSince();
      LOG.info("Step {}: {} steps/s.", now, String.format("%.4g", rate));
      if (events != null) {
        events.addScalar("global_step/sec", (float) rate, now);
      }
    }
    schedule.acted(now);
  }

  /** The rate last measured; NaN before. */
  public double stepsPerSecond() {
    return rate;
  }
}
