package dev.millrace.ring;

import dev.millrace.collective.Ring;
import dev.millrace.graph.Scope;
import dev.millrace.train.session.TrainingSettings;

/**
 * How a rank trains in a {@link dev.millrace.train.session.MonitoredTrainingSession}. Every rank
 * has a session of its own and initialises its own variables; rank 0 alone restores and saves, and
 * the others take over its variables.
 */
public final class RingSettings {
  private RingSettings() {}

  /** {@code settings} for this rank of {@code ring}, which trains the graph of {@code scope}. */
  public static TrainingSettings of(Ring ring, Scope scope, TrainingSettings settings) {
    TrainingSettings own = settings.withChief(true);
    if (ring.rank() != 0) {
      own = own.withFolder(null).withLogEverySteps(0);
    }
    return own.withHooks(new BroadcastVariablesHook(scope, 0));
  }
}
