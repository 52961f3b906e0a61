package dev.millrace.ring;

import dev.millrace.collective.Ring;
import dev.millrace.graph.Scope;
import dev.millrace.train.session.TrainingSettings;

/**
 * How a rank trains in a {@link dev.millrace.train.session.MonitoredTrainingSession}. Every rank
 * has a session of its own and initialises its own variables; rank 0 alone restores and saves, and
 * the others take over its variables. A lost rank ends training on all others: a rank cannot rejoin
 * a ring. Start all of them again; they resume from the last checkpoint.
 */
public final class RingSettings {
  private RingSettings() {}

  /** {@code settings} for this rank of {@code ring}, which trains the graph of {@code scope}. */
  public static TrainingSettings of(Ring ring, Scope scope, TrainingSettings settings) {
    // A rank that stopped on its own would count as lost, before rank 0 has saved.
    TrainingSettings own =
        settings.withChief(true).withRecovery(false).withSavesOnTermination(false);
    if (ring.rank() != 0) {
      own = own.withFolder(null).withSaveEvery(null).withLogEverySteps(0);
    }
    // First, so that the other hooks find rank 0's variables, its input positions included.
    return own.withFirstHook(new BroadcastVariablesHook(scope, 0));
  }
}
