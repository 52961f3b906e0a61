package dev.millrace.train.optimizer;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializer;
import dev.millrace.train.variable.Initializers;

/** Follow the regularized leader: keeps weights at zero that are not worth their L1 penalty. */
public final class Ftrl extends FusedOptimizer {
  /**
   * The settings beside the learning rate, with TensorFlow's defaults.
   *
   * @param power the learning rate falls with this power of the accumulated squares; at most 0
   * @param initialAccumulator what the accumulated squares start with
   * @param l1 weight of the L1 penalty
   * @param l2 weight of the L2 penalty on the weights
   * @param l2Shrinkage weight of an L2 penalty on the gradient; 0 for none
   * @param beta stabilises small learning rates
   */
  public record Settings(
      float power, float initialAccumulator, float l1, float l2, float l2Shrinkage, float beta) {
    public static final Settings DEFAULT = new Settings(-.5f, .1f, 0, 0, 0, 0);
  }

  /** Below this a learning rate is not divided by. */
  private static final float SMALLEST_RATE = 1e-36f;

  private final Hyperparameter rate;
  private final Settings settings;
  private Hyperparameter l1;
  private Hyperparameter l2;
  private Hyperparameter shrinkage;
  private Hyperparameter power;

  /** With TensorFlow's defaults. */
  public Ftrl(float learningRate) {
    this(learningRate, Settings.DEFAULT);
  }

  /** With settings of its own. */
  public Ftrl(float learningRate, Settings settings) {
    this(Hyperparameter.of("learning_rate", learningRate), settings);
  }

  /** With a learning rate that the graph computes. */
  public Ftrl(Output learningRate, Settings settings) {
    this(Hyperparameter.of("learning_rate", learningRate), settings);
  }

  private Ftrl(Hyperparameter rate, Settings settings) {
    super("Ftrl", rate);
    this.rate = rate;
    this.settings = settings;
  }

  @Override
  protected String rule() {
    return settings.l2Shrinkage > 0 ? "FtrlV2" : "Ftrl";
  }

  @Override
  protected void createSlots(Scope scope, GraphVariable v) {
    createSlot(scope, v, "accum", scaledOnes(settings.initialAccumulator));
    createSlot(scope, v, "linear", Initializers.zeros());
  }

  private static Initializer scaledOnes(float value) {
    return (s, dtype, shape) ->
        Arithmetic.mul(
            s.withName("mul"),
            Initializers.ones().of(s, dtype, shape),
            Const.of(s.withName("mul/y"), dtype, value));
  }

  @Override
  protected void prepare(Scope s) {
    super.prepare(s);
    l1 = prepared(s, Hyperparameter.of("l1_regularization_strength", settings.l1));
    l2 = Hyperparameter.of("l2", l2WithBeta(s));
    prepared(s, Hyperparameter.of("beta", settings.beta));
    shrinkage =
        prepared(
            s, Hyperparameter.of("l2_shrinkage_regularization_strength", settings.l2Shrinkage));
    power = prepared(s, Hyperparameter.of("learning_rate_power", settings.power));
  }

  /** {@code l2 + beta / (2 * learning_rate)}. */
  private Output l2WithBeta(Scope s) {
    Output positive =
        Arithmetic.maximum(
            s.withName("Maximum"), rate.output(), Const.of(s.withName("Maximum/y"), SMALLEST_RATE));
    Output twice = Arithmetic.mul(s.withName("mul"), Const.of(s.withName("mul/x"), 2f), positive);
    Output added =
        Arithmetic.realDiv(
            s.withName("truediv"), Const.of(s.withName("truediv/x"), settings.beta), twice);
    return Arithmetic.add(s.withName("add"), Const.of(s.withName("add/x"), settings.l2), added);
  }

  private static Hyperparameter prepared(Scope s, Hyperparameter h) {
    h.prepare(s);
    return h;
  }

  @Override
  protected void describe(UpdateOp u) {
    u.slot("accum").slot("linear").gradient().hyper(rate).hyper(l1).hyper(l2);
    if (settings.l2Shrinkage > 0) {
      u.hyper(shrinkage);
    }
    u.hyper(power);
  }
}
