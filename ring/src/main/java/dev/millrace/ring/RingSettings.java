package dev.millrace.ring;

import dev.millrace.collective.Ring;
import dev.millrace.graph.Scope;
import dev.millrace.train.session.TrainingSettings;

/**
 * How a rank trains in a {@link dev.millrace.train.session.MonitoredTrainingSession}. Every rank
 * has a session of its own and initialises its own variables; rank 0 alone restores and saves, and
 * the others take over its variables. A lost rank ends training on all others: no rank can join a
 * ring again, so all have to be started again, and go on from the last checkpoint.
 */
public final class RingSettings {
  private RingSettings() {}

  /** {@code settings} for this rank of {@code ring}, which trains the graph of {@code scope}. */
  public static TrainingSettings of(Ring ring, Scope scope, TrainingSettings settings) {
    // A rank that stopped on its own would be a lost one to the others, before rank 0 has saved.
    TrainingSettings own =
        settings.withChief(true).withRecovery(false).withSavesOnTermination(false);
    if (ring.rank() != 0) {
      own = own.withFolder(null).withSaveEvery(null).withLogEverySteps(0);
    }
    // Before all others, which find the variables as rank 0 has them: its places in the data too.
    return own.withFirstHook(new BroadcastVariablesHook(scope, 0));
  }
}
