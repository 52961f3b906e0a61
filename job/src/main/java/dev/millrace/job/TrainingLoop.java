package dev.millrace.job;

import dev.millrace.graph.Node;
import dev.millrace.train.session.MonitoredTrainingSession;

/** A program's own way to make the steps of its job, instead of one {@code step} after another. */
@FunctionalInterface
public interface TrainingLoop {
  /**
   * Trains until {@code session.shouldStop()}, best by {@code session.loop}. Each run of {@code
   * step} takes the next batch and updates {@code model}.
   */
  void train(MonitoredTrainingSession session, Node step, Model model);
}
