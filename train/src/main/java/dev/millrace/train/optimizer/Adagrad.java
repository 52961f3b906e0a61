package dev.millrace.train.optimizer;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;

/**
 * Steps that shrink for elements that have moved much: {@code a += gradient^2; v -= learning_rate *
 * gradient / sqrt(a)}.
 */
public final class Adagrad extends FusedOptimizer {
  private final Hyperparameter rate;
  private final float initial;

  /** With TensorFlow's defaults. */
  public Adagrad(float learningRate) {
    this(Hyperparameter.of("learning_rate", learningRate), .1f);
  }

  /** With another value for the accumulated squares to start with; it must be positive. */
  public Adagrad(float learningRate, float initialAccumulator) {
    this(Hyperparameter.of("learning_rate", learningRate), initialAccumulator);
  }

  /** With a learning rate that the graph computes. */
  public Adagrad(Output learningRate, float initialAccumulator) {
    this(Hyperparameter.of("learning_rate", learningRate), initialAccumulator);
  }

  private Adagrad(Hyperparameter rate, float initial) {
    super("Adagrad", rate);
    this.rate = rate;
    this.initial = initial;
  }

  @Override
  protected String rule() {
    return "Adagrad";
  }

  @Override
  protected void createSlots(Scope scope, GraphVariable v) {
    createSlot(scope, v, "accumulator", Initializers.constant(initial));
  }

  @Override
  protected void describe(UpdateOp u) {
    u.slot("accumulator").hyper(rate).gradient();
  }
}
