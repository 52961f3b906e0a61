package dev.millrace.graph.resource;

import dev.millrace.tensor.DType;
import java.util.Map;

/**
 * Keeps the state of a task: makes its variables, learns of every change, and commits each step
 * before it is acknowledged. {@link #MEMORY} keeps state in memory and forgets it with the process.
 *
 * <p>A task has one store for all its devices. For each step that runs there the store sees, in
 * this order: the changes that the step makes, through the journals it has attached; then either
 * {@link #commit}, once, or {@link #failed}, once. The step is acknowledged to the session, or to
 * the master or peer that asked for it, only after {@code commit} has returned. So a store that
 * makes changes durable in {@code commit} loses no acknowledged update. Steps that run at the same
 * time interleave; journals carry the step id to tell their changes apart.
 *
 * <p>The state of an isolated session and what lives within one step do not pass the store.
 *
 * <p>Threading: any thread; several steps commit at once.
 */
public interface VariableStore {
  /** Keeps state in memory only; commits cost nothing. */
  VariableStore MEMORY =
      new VariableStore() {
        @Override
        public Variable create(StateId id, DType dtype) {
          return new Variable(id.name(), dtype);
        }

        @Override
        public void commit(long stepId) {}

        @Override
        public String toString() {
          return "memory";
        }
      };

  /**
   * Makes the variable of this name, with the value that the store has kept for it, if any. Called
   * once when a step first names it, and again after it was removed. Must not wait for a step.
   */
  Variable create(StateId id, DType dtype);

  /** The variables that an earlier process has left, by name. They are there from the start. */
  default Map<StateId, Variable> kept() {
    return Map.of();
  }

  /**
   * Called when a step first names a queue, an accumulator or a table; {@code fresh} is empty.
   * Returns the journal for its changes, or null to keep it in memory only.
   */
  default StateJournal open(StateId id, Resources.Resource fresh) {
    return null;
  }

  /** A queue, accumulator, table or variable was removed or its container cleared. */
  default void removed(StateId id) {}

  /**
   * Makes the changes of a step permanent, as far as this store does. Called after all of them, on
   * a thread that the step may block. A failure fails the step: it is not acknowledged.
   */
  void commit(long stepId);

  /**
   * A step has ended with an error and will not be committed. What it changed before stays in
   * memory, as in TensorFlow; nobody was told that it succeeded.
   */
  default void failed(long stepId) {}
}
