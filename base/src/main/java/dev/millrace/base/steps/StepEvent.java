package dev.millrace.base.steps;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/**
 * A training step in a JFR recording, with its phases. It is an event at the end of the step; the
 * fields have the times. Costs nothing while nobody records.
 */
@Name("dev.millrace.Step")
@Label("Training step")
@Description("A training step has ended; the fields say where its time went.")
@Category("Millrace")
@StackTrace(false)
final class StepEvent extends Event {
  @Timespan long total;
  @Timespan long input;
  @Timespan long pull;
  @Timespan long compute;
  @Timespan long push;
  @Timespan long reduce;

  @Timespan
  @Label("wait for others")
  long awaiting;

  @Timespan long save;
  @Timespan long other;
  long examples;

  static void commit(StepClock step) {
    StepEvent e = new StepEvent();
    if (!e.isEnabled()) {
      return;
    }
    e.total = step.ended() - step.begun();
    e.input = step.nanos(Phase.INPUT);
    e.pull = step.nanos(Phase.PULL);
    e.compute = step.nanos(Phase.COMPUTE);
    e.push = step.nanos(Phase.PUSH);
    e.reduce = step.nanos(Phase.REDUCE);
    e.awaiting = step.nanos(Phase.WAIT);
    e.save = step.nanos(Phase.SAVE);
    e.other = step.nanos(Phase.OTHER);
    e.examples = step.examples();
    e.commit();
  }
}
