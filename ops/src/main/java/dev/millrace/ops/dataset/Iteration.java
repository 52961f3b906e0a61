package dev.millrace.ops.dataset;

import dev.millrace.graph.Procedure;
import java.util.IdentityHashMap;

/**
 * What the parts of a pipeline have in common while an iterator walks through it: the functions it
 * calls, whose random numbers restart with every iterator.
 *
 * <p>Threading: any thread.
 */
final class Iteration {
  private final IdentityHashMap<Procedure, Procedure> own = new IdentityHashMap<>();

  /** This iterator's own instance of a function. */
  synchronized Procedure own(Procedure shared) {
    return own.computeIfAbsent(shared, Procedure::fresh);
  }
}
