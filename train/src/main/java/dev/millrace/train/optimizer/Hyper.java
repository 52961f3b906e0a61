package dev.millrace.train.optimizer;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;

/**
 * A setting of an optimizer such as the learning rate: a number, which becomes a constant of the
 * graph, or the output of a node, which may change from step to step.
 */
final class Hyper {
  private final String name;
  private final float value;
  private final Output given;

  /** Set by {@link #prepare}. */
  private Output node;

  private Hyper(String name, float value, Output given) {
    this.name = name;
    this.value = value;
    this.given = given;
  }

  static Hyper of(String name, float value) {
    return new Hyper(name, value, null);
  }

  static Hyper of(String name, Output given) {
    return new Hyper(name, 0, given);
  }

  /** Adds the constant. */
  void prepare(Scope scope) {
    node = given != null ? given : Const.of(scope.withName(name), value);
  }

  /** The value in the type of {@code like}. */
  Output as(Scope scope, dev.millrace.tensor.DType dtype) {
    return Optimizer.as(scope, node, dtype);
  }
}
