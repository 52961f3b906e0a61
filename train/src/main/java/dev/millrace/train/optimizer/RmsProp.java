package dev.millrace.train.optimizer;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;

/**
 * Steps over a moving average of the size of gradients; the centred form takes their variance
 * instead of their square.
 */
public final class RmsProp extends FusedOptimizer {
  /** The settings beside the learning rate, with TensorFlow's defaults. */
  public record Settings(float decay, float momentum, float epsilon, boolean centered) {
    public static final Settings DEFAULT = new Settings(.9f, 0, 1e-10f, false);
  }

  private final Hyperparameter rate;
  private final Hyperparameter decay;
  private final Hyperparameter momentum;
  private final Hyperparameter epsilon;
  private final boolean centered;

  /** With TensorFlow's defaults. */
  public RmsProp(float learningRate) {
    this(learningRate, Settings.DEFAULT);
  }

  /** With settings of its own. */
  public RmsProp(float learningRate, Settings settings) {
    this(Hyperparameter.of("learning_rate", learningRate), settings);
  }

  /** With a learning rate that the graph computes. */
  public RmsProp(Output learningRate, Settings settings) {
    this(Hyperparameter.of("learning_rate", learningRate), settings);
  }

  private RmsProp(Hyperparameter rate, Settings s) {
    this(
        rate,
        Hyperparameter.of("decay", s.decay),
        Hyperparameter.of("momentum", s.momentum),
        Hyperparameter.of("epsilon", s.epsilon),
        s.centered);
  }

  private RmsProp(
      Hyperparameter rate,
      Hyperparameter decay,
      Hyperparameter momentum,
      Hyperparameter epsilon,
      boolean centered) {
    super("RMSProp", rate, decay, momentum, epsilon);
    this.rate = rate;
    this.decay = decay;
    this.momentum = momentum;
    this.epsilon = epsilon;
    this.centered = centered;
  }

  @Override
  protected String rule() {
    return centered ? "CenteredRMSProp" : "RMSProp";
  }

  @Override
  protected void createSlots(Scope scope, GraphVariable v) {
    createSlot(scope, v, "rms", Initializers.ones());
    if (centered) {
      createSlot(scope, v, "mg", Initializers.zeros());
    }
    createSlot(scope, v, "momentum", Initializers.zeros());
  }

  @Override
  protected void describe(UpdateOp u) {
    if (centered) {
      u.slot("mg");
    }
    u.slot("rms").slot("momentum").hyper(rate).hyper(decay).hyper(momentum).hyper(epsilon);
    u.gradient();
  }
}
