package dev.millrace.train.optimizer;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.train.variable.GraphVariable;

/** {@code v -= learning_rate * gradient}. */
public final class GradientDescent extends Optimizer {
  private final Hyper rate;

  public GradientDescent(float learningRate) {
    this(Hyper.of("learning_rate", learningRate));
  }

  /** With a learning rate that the graph computes. */
  public GradientDescent(Output learningRate) {
    this(Hyper.of("learning_rate", learningRate));
  }

  private GradientDescent(Hyper rate) {
    super("GradientDescent");
    this.rate = rate;
  }

  @Override
  void prepare(Scope scope) {
    rate.prepare(scope);
  }

  @Override
  Node updateDense(Scope scope, GraphVariable v, Output gradient) {
    return scope
        .node(v.isResource() ? "ResourceApplyGradientDescent" : "ApplyGradientDescent")
        .input(v.handle())
        .input(rate.as(scope, v.dtype()))
        .input(gradient)
        .add();
  }

  /** Repeated rows need not be added up first: subtracting is the same one by one. */
  @Override
  Node updateRows(Scope scope, GraphVariable v, Grad.Rows rows) {
    return updateSparse(scope, v, rows.values(), rows.indices());
  }

  @Override
  Node updateSparse(Scope scope, GraphVariable v, Output gradient, Output indices) {
    if (v.isResource()) {
      Output negated = scope.node("Neg").input(gradient).add().output();
      return scope
          .node("ResourceScatterAdd")
          .input(v.handle())
          .input(indices)
          .input(times(scope, negated, v))
          .attr("dtype", v.dtype())
          .add();
    }
    return scope
        .node("ScatterSub")
        .input(v.handle())
        .input(indices)
        .input(times(scope, gradient, v))
        .add();
  }

  private Output times(Scope scope, Output gradient, GraphVariable v) {
    return scope
        .withName("mul")
        .node("Mul")
        .input(gradient)
        .input(rate.as(scope, v.dtype()))
        .add()
        .output();
  }
}
