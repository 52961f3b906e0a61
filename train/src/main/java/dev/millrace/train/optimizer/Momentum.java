package dev.millrace.train.optimizer;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;

/**
 * Descent that keeps part of its speed: {@code m = momentum * m + gradient; v -= learning_rate *
 * m}. Nesterov's form looks one step ahead.
 */
public final class Momentum extends FusedOptimizer {
  private final Hyperparameter rate;
  private final Hyperparameter momentum;
  private final boolean nesterov;

  /** Plain momentum. */
  public Momentum(float learningRate, float momentum) {
    this(Hyperparameter.of("learning_rate", learningRate), momentum, false);
  }

  /** Plain or Nesterov's. */
  public Momentum(float learningRate, float momentum, boolean nesterov) {
    this(Hyperparameter.of("learning_rate", learningRate), momentum, nesterov);
  }

  /** With a learning rate that the graph computes. */
  public Momentum(Output learningRate, float momentum, boolean nesterov) {
    this(Hyperparameter.of("learning_rate", learningRate), momentum, nesterov);
  }

  private Momentum(Hyperparameter rate, float momentum, boolean nesterov) {
    this(rate, Hyperparameter.of("momentum", momentum), nesterov);
  }

  private Momentum(Hyperparameter rate, Hyperparameter momentum, boolean nesterov) {
    super("Momentum", rate, momentum);
    this.rate = rate;
    this.momentum = momentum;
    this.nesterov = nesterov;
  }

  @Override
  protected String rule() {
    return "Momentum";
  }

  @Override
  protected void createSlots(Scope scope, GraphVariable v) {
    createSlot(scope, v, "momentum", Initializers.zeros());
  }

  @Override
  protected void describe(UpdateOp u) {
    u.slot("momentum").hyper(rate).gradient().hyper(momentum).attr("use_nesterov", nesterov);
  }
}
