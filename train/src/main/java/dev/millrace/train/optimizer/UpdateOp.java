package dev.millrace.train.optimizer;

import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.train.variable.GraphVariable;

/**
 * The op that updates one variable, described argument by argument. Each rule exists in four forms
 * with the same arguments: for reference and resource variables, for dense gradients and for rows.
 * The form for rows takes their indices right after the gradient.
 */
public final class UpdateOp {
  private final NodeBuilder node;
  private final Scope scope;
  private final Slots slots;
  private final GraphVariable variable;
  private final Output gradient;
  private final Output indices;

  /** Begins with the variable itself; {@code indices} is null for a dense gradient. */
  UpdateOp(
      Scope scope, String rule, Slots slots, GraphVariable v, Output gradient, Output indices) {
    String op = (indices == null ? "Apply" : "SparseApply") + rule;
    this.node = scope.node(v.isResource() ? "Resource" + op : op).input(v.handle());
    this.scope = scope;
    this.slots = slots;
    this.variable = v;
    this.gradient = gradient;
    this.indices = indices;
  }

  /** The next argument is the variable's slot of this kind. */
  public UpdateOp slot(String kind) {
    node.input(slots.get(kind, variable).handle());
    return this;
  }

  /** The next argument is a hyperparameter, converted to the variable's type. */
  public UpdateOp hyper(Hyperparameter h) {
    return value(h.as(scope, variable.dtype()));
  }

  /** The next argument is a value. */
  public UpdateOp value(Output value) {
    node.input(value);
    return this;
  }

  /** The next argument is the gradient, with its indices if it has any. */
  public UpdateOp gradient() {
    node.input(gradient);
    if (indices != null) {
      node.input(indices);
    }
    return this;
  }

  /** Sets an attribute of the op. */
  public UpdateOp attr(String name, Object value) {
    node.attr(name, value);
    return this;
  }

  Node add() {
    return node.add();
  }
}
