package dev.millrace.train.layers;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;

/** What a layer applies to its result, such as {@code Activations::relu}. */
@FunctionalInterface
public interface Activation {
  /** Leaves the result as it is. */
  Activation NONE = (scope, x) -> x;

  /** The function of {@code x}. */
  Output of(Scope scope, Output x);
}
