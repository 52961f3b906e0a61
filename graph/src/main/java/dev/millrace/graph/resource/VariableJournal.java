package dev.millrace.graph.resource;

import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;

/**
 * What a {@link VariableStore} attaches to a variable it makes: told of every change, and asked for
 * the memory of every new value.
 *
 * <p>Threading: called by the thread that makes the change, while the variable is locked. It must
 * not call back into the variable or wait for a step.
 */
public interface VariableJournal {
  /**
   * Whether step {@code stepId} is to make its next change. It is not if an earlier attempt at the
   * same step has made it, or if a later step of the same session was committed.
   */
  default boolean admits(long stepId) {
    return true;
  }

  /** The next change that is reported replaces the whole value, whatever it was. */
  default void replacing(long stepId) {}

  /** Step {@code stepId} has changed the variable, which now has {@code value}; not to be kept. */
  void assigned(long stepId, Tensor value);

  /**
   * Step {@code stepId} has changed the rows {@code indices} of {@code value} and no others.
   * Neither tensor may be kept. The indices are of type int32 or int64, of any shape, and may
   * repeat.
   */
  void rowsChanged(long stepId, Tensor value, Tensor indices);

  /**
   * A copy of {@code value} with a counted reference of the caller's, in memory of the store's
   * choice. The variable changes its elements in place afterwards.
   */
  default Tensor copy(Tensor value) {
    return Refs.copy(value);
  }

  /** The variable has no value any more: it was removed, or its task ends. */
  default void removed() {}
}
