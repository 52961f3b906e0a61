package dev.millrace.train.optimizer;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.graph.GroupNodes;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Minimises a loss by changing variables along its gradient. {@link #minimize} adds to the graph
 * the gradients, the state the method keeps per variable (its slots) and the updates, each placed
 * with its variable, and returns the node that makes one step of training.
 *
 * <p>A method of optimization is a subclass, in this project or in another. It passes its name and
 * {@link Hyperparameter}s to the constructor and overrides, in the order in which they are called:
 *
 * <ol>
 *   <li>{@link #createSlots(Scope, GraphVariable)}, to make the state it keeps per variable;
 *   <li>{@link #prepare}, for nodes that all updates share;
 *   <li>{@link #applyDense} and {@link #applySparse}, to add the update of one variable;
 *   <li>{@link #finish}, for updates of state that all variables share.
 * </ol>
 *
 * <p>All of them add nodes and run nothing, so an optimizer needs no code on the parameter servers
 * unless it uses an op of its own. Slots are global variables: checkpoints save and restore them.
 * An update that is a single op extends {@link FusedOptimizer}. What changes gradients rather than
 * updates, such as clipping, belongs in a {@link Minimizer} around an optimizer.
 *
 * <p>One optimizer object serves one graph.
 */
public abstract class Optimizer implements Minimizer {
  private final String name;
  private final List<Hyperparameter> hyperparameters;
  private final Slots slots = new Slots();

  /**
   * An optimizer whose nodes are under {@code name}.
   *
   * @param name a valid name of a scope; slot variables are called {@code variable/name}
   * @param hyperparameters those whose constants this class adds to the graph
   */
  protected Optimizer(String name, Hyperparameter... hyperparameters) {
    this.name = name;
    this.hyperparameters = List.of(hyperparameters);
  }

  /** The name of the scope of its nodes and of its slot variables. */
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
   * Adds the gradients of {@code loss}; with {@code colocate} each gradient op is placed with the
   * op it is the gradient of, as a model needs whose layers are on several devices.
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
        case Grad.Dense d -> updates.add(applyDense(at, v, d.value()));
        case Grad.Rows r -> updates.add(applyDuplicateRows(at, v, r));
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

  // ---- what a method of optimization defines ----

  /**
   * Makes the slots of all variables that have a gradient. Calls the method below for each; to
   * override for state that all variables share, made by {@link #createShared}. Called once per
   * {@link #applyGradients}.
   */
  protected void createSlots(Scope scope, List<GraphVariable> variables) {
    variables.forEach(v -> createSlots(scope, v));
  }

  /** Makes the slots of one variable by {@link #createSlot}. Makes none unless overridden. */
  protected void createSlots(Scope scope, GraphVariable v) {}

  /**
   * Adds nodes that several updates read. {@code scope} has the optimizer's name and no device of
   * its own. An override calls this method first: it adds the hyperparameters.
   */
  protected void prepare(Scope scope) {
    hyperparameters.forEach(h -> h.prepare(scope));
  }

  /**
   * Adds the update of {@code v} by a gradient of its shape and returns the node that completes it.
   * {@code scope} is placed with the variable. Changes of the variable and its slots go through the
   * methods of {@link GraphVariable} or through an op that takes its handle.
   */
  protected abstract Node applyDense(Scope scope, GraphVariable v, Output gradient);

  /**
   * Adds the update of some rows of {@code v}, as embeddings have it: {@code rows.values()[i]} is
   * the gradient of row {@code rows.indices()[i]}, and no row occurs twice.
   */
  protected abstract Node applySparse(Scope scope, GraphVariable v, Grad.Rows rows);

  /**
   * Adds the update of some rows of {@code v}, of which some may occur several times. Sums those
   * and calls {@link #applySparse}; a method that need not sum them overrides this.
   */
  protected Node applyDuplicateRows(Scope scope, GraphVariable v, Grad.Rows rows) {
    return applySparse(scope, v, DistinctRows.of(scope, rows));
  }

  /**
   * Adds what runs after all updates and returns the node that completes the step, named after
   * {@code result}. Groups the updates unless overridden.
   */
  protected Node finish(Scope scope, Scope result, List<Node> updates) {
    return GroupNodes.in(result, updates);
  }

  // ---- what it uses for that ----

  /**
   * The slot of this kind of {@code v}, made unless it exists: a variable of the type, shape and
   * place of {@code v} that is not trained, called {@code v/name} after this optimizer, with a
   * suffix if that is taken.
   */
  protected final GraphVariable createSlot(
      Scope scope, GraphVariable v, String kind, Initializer initial) {
    return slots.create(scope, v, kind, name, initial);
  }

  /**
   * Makes a variable that belongs to no single one of {@code variables}, such as a count of steps.
   * It is placed with the first of them by name, which does not depend on the order in which they
   * were made.
   */
  protected final GraphVariable createShared(
      Scope scope, List<GraphVariable> variables, String name, Tensor initial) {
    GraphVariable first =
        variables.stream().min(Comparator.comparing(GraphVariable::name)).orElseThrow();
    return Slots.beside(scope, first).startingWith(name, initial);
  }
}
