package dev.millrace.graph.op;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;

/**
 * One node's turn in building gradients: what has come back for its outputs, and where to leave
 * what goes on to its inputs. An input for which nothing is left gets no gradient.
 */
public interface GradientContext {
  /** Where the gradient's ops go; colocated with the node if gradients are to be. */
  Scope scope();

  /** The node whose gradient is asked for. */
  Node node();

  /** Whether anything that depends on output {@code i} leads to the goal. */
  boolean hasGradient(int i);

  /** The gradient of output {@code i}; zeros of its shape where there is none. */
  Output dy(int i);

  /** The gradient of the first output. */
  default Output dy() {
    return dy(0);
  }

  /** Input {@code i} of the node. */
  default Output input(int i) {
    return node().input(i);
  }

  /** Output {@code i} of the node. */
  default Output output(int i) {
    return node().output(i);
  }

  /**
   * Leaves the gradient of output {@code o} as that of input {@code i}, unchanged: one that is zero
   * but in a few rows stays so. Nothing is left where none has come back.
   */
  void pass(int o, int i);

  /** Leaves the gradient of input {@code i}. */
  void dx(int i, Output gradient);

  /**
   * Leaves a gradient of input {@code i} that is zero but in a few rows: {@code values} are the
   * rows, {@code indices} where they belong, {@code denseShape} the shape of the whole.
   */
  void dxRows(int i, Output values, Output indices, Output denseShape);
}
