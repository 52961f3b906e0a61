package dev.millrace.graph.resource;

/**
 * Told of the changes of one queue, accumulator or table that a {@link VariableStore} keeps.
 *
 * <p>Threading: called by the thread that makes the change, while the resource is locked. It must
 * not call back into the resource's operations or wait for a step.
 */
@FunctionalInterface
public interface StateJournal {
  /** Step {@code stepId} has changed the resource. */
  void changed(long stepId);
}
