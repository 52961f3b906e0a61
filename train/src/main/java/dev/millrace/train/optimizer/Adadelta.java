package dev.millrace.train.optimizer;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;

/** Steps in proportion to how far recent steps went over how steep recent slopes were. */
public final class Adadelta extends FusedOptimizer {
  private final Hyperparameter rate;
  private final Hyperparameter rho;
  private final Hyperparameter epsilon;

  /** With TensorFlow's defaults. */
  public Adadelta(float learningRate) {
    this(learningRate, .95f, 1e-8f);
  }

  /** With another decay of the averages and another number that keeps divisors from zero. */
  public Adadelta(float learningRate, float rho, float epsilon) {
    this(
        Hyperparameter.of("lr", learningRate),
        Hyperparameter.of("rho", rho),
        Hyperparameter.of("epsilon", epsilon));
  }

  /** With a learning rate that the graph computes. */
  public Adadelta(Output learningRate, float rho, float epsilon) {
    this(
        Hyperparameter.of("lr", learningRate),
        Hyperparameter.of("rho", rho),
        Hyperparameter.of("epsilon", epsilon));
  }

  private Adadelta(Hyperparameter rate, Hyperparameter rho, Hyperparameter epsilon) {
    super("Adadelta", rate, rho, epsilon);
    this.rate = rate;
    this.rho = rho;
    this.epsilon = epsilon;
  }

  @Override
  protected String rule() {
    return "Adadelta";
  }

  @Override
  protected void createSlots(Scope scope, GraphVariable v) {
    createSlot(scope, v, "accum", Initializers.zeros());
    createSlot(scope, v, "accum_update", Initializers.zeros());
  }

  @Override
  protected void describe(UpdateOp u) {
    u.slot("accum").slot("accum_update").hyper(rate).hyper(rho).hyper(epsilon).gradient();
  }
}
