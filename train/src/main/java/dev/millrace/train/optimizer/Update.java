package dev.millrace.train.optimizer;

import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.train.variable.GraphVariable;

/**
 * The op that updates one variable, described argument by argument. TensorFlow has each rule in
 * four forms with the same arguments, for reference and resource variables, for whole gradients and
 * for rows; the form for rows takes their indices right after the gradient.
 */
final class Update {
  private final NodeBuilder node;
  private final Scope scope;
  private final Slots slots;
  private final GraphVariable variable;
  private final Output gradient;
  private final Output indices;

  /** Begins with the variable itself; {@code indices} is null for a whole gradient. */
  Update(Scope scope, String rule, Slots slots, GraphVariable v, Output gradient, Output indices) {
    String op = (indices == null ? "Apply" : "SparseApply") + rule;
    this.node = scope.node(v.isResource() ? "Resource" + op : op).input(v.handle());
    this.scope = scope;
    this.slots = slots;
    this.variable = v;
    this.gradient = gradient;
    this.indices = indices;
  }

  /** The next argument is the variable's slot of this kind. */
  Update slot(String kind) {
    node.input(slots.find(kind, variable).handle());
    return this;
  }

  /** The next argument is a setting. */
  Update hyper(Hyper h) {
    return value(h.as(scope, variable.dtype()));
  }

  /** The next argument is a value. */
  Update value(Output value) {
    node.input(value);
    return this;
  }

  /** The next argument is the gradient, with its indices if it has any. */
  Update gradient() {
    node.input(gradient);
    if (indices != null) {
      node.input(indices);
    }
    return this;
  }

  Update attr(String name, Object value) {
    node.attr(name, value);
    return this;
  }

  Node add() {
    return node.add();
  }
}
