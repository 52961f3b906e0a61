package dev.millrace.train.optimizer;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.ops.array.Const;
import dev.millrace.train.Group;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializer;
import java.util.ArrayList;
import java.util.List;

/**
 * Minimises a loss by changing variables along its gradient. {@link #minimize} adds to the graph
 * the gradients, the state the method keeps per variable (its slots) and the updates, each placed
 * with its variable, and returns the node that makes one step of training.
 *
 * <p>A method of optimization is a subclass: which slots it keeps and which update ops it adds. One
 * optimizer object serves one graph.
 */
public abstract class Optimizer implements Minimizer {
  private final String name;
  private final List<Hyper> hypers;
  private final Slots slots = new Slots();

  /** An optimizer whose nodes stand under {@code name}, with these settings. */
  Optimizer(String name, Hyper... hypers) {
    this.name = name;
    this.hypers = List.of(hypers);
  }

  /** The name under which its nodes stand and after which its slots are called. */
  public final String name() {
    return name;
  }

  /** The state kept per variable, in the order in which it was made. */
  public final Slots slots() {
    return slots;
  }

  @Override
  public final List<GradientAndVariable> computeGradients(
      Scope scope, Output loss, List<GraphVariable> variables) {
    return computeGradients(scope, loss, variables, false);
  }

  /**
   * Likewise; with {@code colocate} each gradient op is placed with the op it is the gradient of,
   * as a model needs whose layers are on several devices.
   */
  public final List<GradientAndVariable> computeGradients(
      Scope scope, Output loss, List<GraphVariable> variables, boolean colocate) {
    if (variables.isEmpty()) {
      throw MillraceException.invalid(
          "There is no variable to train: make some before the optimizer is asked, or pass them.");
    }
    List<Output> xs = variables.stream().map(GraphVariable::handle).toList();
    List<Grad> gradients = Gradients.of(scope, List.of(loss), xs, colocate);
    List<GradientAndVariable> pairs = new ArrayList<>();
    for (int i = 0; i < xs.size(); i++) {
      pairs.add(new GradientAndVariable(gradients.get(i), variables.get(i)));
    }
    if (pairs.stream().allMatch(p -> p.gradient() instanceof Grad.None)) {
      throw MillraceException.invalid(
          "'%s' depends on none of the variables %s, so there is nothing to train.",
          loss.name(), variables.stream().map(GraphVariable::name).toList());
    }
    return pairs;
  }

  @Override
  public final Node applyGradients(
      Scope scope, List<GradientAndVariable> pairs, GraphVariable globalStep) {
    List<GraphVariable> updated =
        pairs.stream()
            .filter(p -> !(p.gradient() instanceof Grad.None))
            .map(GradientAndVariable::variable)
            .toList();
    if (updated.isEmpty()) {
      throw MillraceException.invalid("None of the variables has a gradient: nothing to train.");
    }
    createSlots(scope, updated);
    Scope own = scope.withSubScope(name);
    prepare(own);
    List<Node> updates = new ArrayList<>();
    for (GradientAndVariable p : pairs) {
      GraphVariable v = p.variable();
      Scope at = own.reopened(own.prefix() + "update_" + v.name() + "/").colocatedWith(v.node());
      switch (p.gradient()) {
        case Grad.Dense d -> updates.add(updateDense(at, v, d.value()));
        case Grad.Rows r -> updates.add(updateRows(at, v, r));
        case Grad.None n -> {}
      }
    }
    if (globalStep == null) {
      return finish(own, own, updates);
    }
    Node all = finish(own, own.reopened(own.prefix() + "update/"), updates);
    Scope beside = own.colocatedWith(globalStep.node());
    Scope after = beside.withControlInputs(all);
    String one = globalStep.isResource() ? "Const" : "value";
    return globalStep.assignAdd(
        beside.asNode(), Const.of(after.withName(one), globalStep.dtype(), 1));
  }

  // ---- what a method of optimization says of itself ----

  /** TensorFlow's name for the update: the op is {@code Apply} followed by this. */
  abstract String rule();

  /** Names the arguments of the update op, but for the first, which is the variable. */
  abstract void describe(Update update);

  /** Makes the slots of a variable. */
  void createSlots(Scope scope, GraphVariable v) {}

  /** Makes the slots of these variables. */
  void createSlots(Scope scope, List<GraphVariable> variables) {
    variables.forEach(v -> createSlots(scope, v));
  }

  /** Makes a slot under this optimizer's name. */
  final void createSlot(Scope scope, GraphVariable v, String kind, Initializer initial) {
    slots.create(scope, v, kind, name, initial);
  }

  /** Adds the settings. */
  void prepare(Scope scope) {
    hypers.forEach(h -> h.prepare(scope));
  }

  /** Adds the update of {@code v} by a whole gradient. */
  final Node updateDense(Scope scope, GraphVariable v, Output gradient) {
    return update(scope, v, gradient, null);
  }

  /** Adds the update of some rows of {@code v}; no row occurs twice. */
  Node updateSparse(Scope scope, GraphVariable v, Output gradient, Output indices) {
    return update(scope, v, gradient, indices);
  }

  private Node update(Scope scope, GraphVariable v, Output gradient, Output indices) {
    Update u = new Update(scope, rule(), slots, v, gradient, indices);
    describe(u);
    return u.add();
  }

  /** Adds the update of some rows of {@code v}, first adding up what belongs to the same row. */
  Node updateRows(Scope scope, GraphVariable v, Grad.Rows rows) {
    Grad.Rows once = DistinctRows.of(scope, rows);
    return updateSparse(scope, v, once.values(), once.indices());
  }

  /** Adds what comes after all updates; the last node is called after {@code result}. */
  Node finish(Scope scope, Scope result, List<Node> updates) {
    return Group.in(result, updates);
  }
}
