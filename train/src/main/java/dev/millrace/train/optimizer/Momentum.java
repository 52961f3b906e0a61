package dev.millrace.train.optimizer;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;

/**
 * Descent that keeps part of its speed: {@code m = momentum * m + gradient; v -= learning_rate *
 * m}. Nesterov's form looks one step ahead.
 */
public final class Momentum extends Optimizer {
  private final Hyper rate;
  private final Hyper momentum;
  private final boolean nesterov;

  /** Plain momentum. */
  public Momentum(float learningRate, float momentum) {
    this(Hyper.of("learning_rate", learningRate), momentum, false);
  }

  /** Plain or Nesterov's. */
  public Momentum(float learningRate, float momentum, boolean nesterov) {
    this(Hyper.of("learning_rate", learningRate), momentum, nesterov);
  }

  /** With a learning rate that the graph computes. */
  public Momentum(Output learningRate, float momentum, boolean nesterov) {
    this(Hyper.of("learning_rate", learningRate), momentum, nesterov);
  }

  private Momentum(Hyper rate, float momentum, boolean nesterov) {
    this(rate, Hyper.of("momentum", momentum), nesterov);
  }

  private Momentum(Hyper rate, Hyper momentum, boolean nesterov) {
    super("Momentum", rate, momentum);
    this.rate = rate;
    this.momentum = momentum;
    this.nesterov = nesterov;
  }

  @Override
  String rule() {
    return "Momentum";
  }

  @Override
  void createSlots(Scope scope, GraphVariable v) {
    createSlot(scope, v, "momentum", Initializers.zeros());
  }

  @Override
  void describe(Update u) {
    u.slot("momentum").hyper(rate).gradient().hyper(momentum).attr("use_nesterov", nesterov);
  }
}
