package dev.millrace.train.optimizer;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Cast;
import dev.millrace.tensor.DType;

/**
 * A setting of an optimizer such as the learning rate: a number, which becomes a constant of the
 * graph, or the output of a node, which may change from step to step. The {@link Optimizer} it is
 * passed to adds the constant before the first update.
 */
public final class Hyperparameter {
  private final String name;
  private final float value;

  /** Given by the caller or, for a number, set by {@link #prepare}. */
  private Output node;

  private Hyperparameter(String name, float value, Output node) {
    this.name = name;
    this.value = value;
    this.node = node;
  }

  /** A constant whose node is called {@code name}. */
  public static Hyperparameter of(String name, float value) {
    return new Hyperparameter(name, value, null);
  }

  /** The value that {@code node} computes in each step. */
  public static Hyperparameter of(String name, Output node) {
    return new Hyperparameter(name, 0, node);
  }

  /** Adds the constant, if it is one and the graph does not have it yet. */
  void prepare(Scope scope) {
    if (node == null) {
      node = Const.of(scope.withName(name), value);
    }
  }

  /** The value in the graph. It exists while {@link Optimizer#applyGradients} runs and after. */
  public Output output() {
    if (node == null) {
      throw new IllegalStateException(
          "Hyperparameter '" + name + "' was not passed to the constructor of its Optimizer.");
    }
    return node;
  }

  /** The value converted to {@code dtype}, as an update of a variable of that type needs it. */
  public Output as(Scope scope, DType dtype) {
    return output().dtype() == dtype ? node : Cast.of(scope, node, dtype);
  }
}
