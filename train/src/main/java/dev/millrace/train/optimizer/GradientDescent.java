package dev.millrace.train.optimizer;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Unary;
import dev.millrace.train.variable.GraphVariable;

/** {@code v -= learning_rate * gradient}. */
public final class GradientDescent extends FusedOptimizer {
  private final Hyperparameter rate;

  /** With a rate that stays. */
  public GradientDescent(float learningRate) {
    this(Hyperparameter.of("learning_rate", learningRate));
  }

  /** With a learning rate that the graph computes. */
  public GradientDescent(Output learningRate) {
    this(Hyperparameter.of("learning_rate", learningRate));
  }

  private GradientDescent(Hyperparameter rate) {
    super("GradientDescent", rate);
    this.rate = rate;
  }

  @Override
  protected String rule() {
    return "GradientDescent";
  }

  @Override
  protected void describe(UpdateOp u) {
    u.hyper(rate).gradient();
  }

  /** Repeated rows need not be added up first: subtracting one by one is the same. */
  @Override
  protected Node applyDuplicateRows(Scope scope, GraphVariable v, Grad.Rows rows) {
    Output step = rate.as(scope, v.dtype());
    Scope mul = scope.withName("mul");
    if (v.isResource()) {
      Output down = Arithmetic.mul(mul, Unary.neg(scope, rows.values()), step);
      return v.scatterAdd(scope, rows.indices(), down);
    }
    return scope
        .node("ScatterSub")
        .input(v.handle())
        .input(rows.indices())
        .input(Arithmetic.mul(mul, rows.values(), step))
        .add();
  }
}
