package com.acme.extension;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.train.optimizer.Optimizer;
import dev.millrace.train.variable.GraphVariable;

/** Subtracts a hundredth of the gradient. */
final class FixedStep extends Optimizer {
  private static final double RATE = .01;

  FixedStep() {
    super("FixedStep");
  }

  @Override
  protected Node applyDense(Scope scope, GraphVariable v, Output gradient) {
    return v.assignSub(scope, Arithmetic.scaled(scope, gradient, RATE));
  }

  @Override
  protected Node applySparse(Scope scope, GraphVariable v, Grad.Rows rows) {
    return v.scatterAdd(scope, rows.indices(), Arithmetic.scaled(scope, rows.values(), -RATE));
  }
}
