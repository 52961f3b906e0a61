package dev.millrace.train.optimizer;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;

/** Steps in proportion to how far recent steps went over how steep recent slopes were. */
public final class Adadelta extends Optimizer {
  private final Hyper rate;
  private final Hyper rho;
  private final Hyper epsilon;

  /** With TensorFlow's defaults. */
  public Adadelta(float learningRate) {
    this(learningRate, .95f, 1e-8f);
  }

  /** With another decay of the averages and another number that keeps divisors from zero. */
  public Adadelta(float learningRate, float rho, float epsilon) {
    this(Hyper.of("lr", learningRate), Hyper.of("rho", rho), Hyper.of("epsilon", epsilon));
  }

  /** With a learning rate that the graph computes. */
  public Adadelta(Output learningRate, float rho, float epsilon) {
    this(Hyper.of("lr", learningRate), Hyper.of("rho", rho), Hyper.of("epsilon", epsilon));
  }

  private Adadelta(Hyper rate, Hyper rho, Hyper epsilon) {
    super("Adadelta", rate, rho, epsilon);
    this.rate = rate;
    this.rho = rho;
    this.epsilon = epsilon;
  }

  @Override
  String rule() {
    return "Adadelta";
  }

  @Override
  void createSlots(Scope scope, GraphVariable v) {
    createSlot(scope, v, "accum", Initializers.zeros());
    createSlot(scope, v, "accum_update", Initializers.zeros());
  }

  @Override
  void describe(Update u) {
    u.slot("accum").slot("accum_update").hyper(rate).hyper(rho).hyper(epsilon).gradient();
  }
}
