package dev.millrace.train.optimizer;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Cast;
import dev.millrace.tensor.DType;

/**
 * A setting of an optimizer such as the learning rate: a number, which becomes a constant of the
 * graph, or the output of a node, which may change from step to step.
 */
final class Hyper {
  private final String name;
  private final float value;

  /** Given from outside or, for a number, set by {@link #prepare}. */
  private Output node;

  private Hyper(String name, float value, Output node) {
    this.name = name;
    this.value = value;
    this.node = node;
  }

  static Hyper of(String name, float value) {
    return new Hyper(name, value, null);
  }

  static Hyper of(String name, Output node) {
    return new Hyper(name, 0, node);
  }

  /** Adds the constant, if it is one and not there yet. */
  void prepare(Scope scope) {
    if (node == null) {
      node = Const.of(scope.withName(name), value);
    }
  }

  /** The value. */
  Output output() {
    return node;
  }

  /** The value in another type. */
  Output as(Scope scope, DType dtype) {
    return node.dtype() == dtype ? node : Cast.of(scope, node, dtype);
  }
}
