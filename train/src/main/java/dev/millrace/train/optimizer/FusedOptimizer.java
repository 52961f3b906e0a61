package dev.millrace.train.optimizer;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.train.variable.GraphVariable;

/**
 * An optimizer whose update of a variable is a single op, as TensorFlow's are: {@code ApplyX},
 * {@code SparseApplyX}, {@code ResourceApplyX} and {@code ResourceSparseApplyX} for the rule {@code
 * X}. One op reads the gradient and changes the variable and its slots in one pass over memory.
 */
public abstract class FusedOptimizer extends Optimizer {
  /** See {@link Optimizer#Optimizer}. */
  protected FusedOptimizer(String name, Hyperparameter... hyperparameters) {
    super(name, hyperparameters);
  }

  /** The rule {@code X}: the ops are called {@code ApplyX} and so on. */
  protected abstract String rule();

  /** Names the arguments of the update op in order, except the first, which is the variable. */
  protected abstract void describe(UpdateOp update);

  @Override
  protected final Node applyDense(Scope scope, GraphVariable v, Output gradient) {
    return update(scope, v, gradient, null);
  }

  @Override
  protected Node applySparse(Scope scope, GraphVariable v, Grad.Rows rows) {
    return update(scope, v, rows.values(), rows.indices());
  }

  private Node update(Scope scope, GraphVariable v, Output gradient, Output indices) {
    UpdateOp u = new UpdateOp(scope, rule(), slots(), v, gradient, indices);
    describe(u);
    return u.add();
  }
}
