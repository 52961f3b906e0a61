package dev.millrace.train.optimizer;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Unary;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.graph.GroupNodes;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import java.util.ArrayList;
import java.util.List;

/**
 * Steps along a moving average of the gradient over one of its size, both corrected for having
 * started at zero (Kingma and Ba 2014). The powers of the decays that the correction takes are
 * variables, updated after all others.
 */
public final class Adam extends FusedOptimizer {
  /** The settings beside the learning rate, with TensorFlow's defaults. */
  public record Settings(float beta1, float beta2, float epsilon) {
    public static final Settings DEFAULT = new Settings(.9f, .999f, 1e-8f);
  }

  private final Hyperparameter rate;
  private final Hyperparameter beta1;
  private final Hyperparameter beta2;
  private final Hyperparameter epsilon;
  private final Settings settings;
  private GraphVariable beta1Power;
  private GraphVariable beta2Power;

  /** With a learning rate of 0.001. */
  public Adam() {
    this(.001f);
  }

  /** With TensorFlow's defaults. */
  public Adam(float learningRate) {
    this(learningRate, Settings.DEFAULT);
  }

  /** With settings of its own. */
  public Adam(float learningRate, Settings settings) {
    this(Hyperparameter.of("learning_rate", learningRate), settings);
  }

  /** With a learning rate that the graph computes. */
  public Adam(Output learningRate, Settings settings) {
    this(Hyperparameter.of("learning_rate", learningRate), settings);
  }

  private Adam(Hyperparameter rate, Settings s) {
    this(
        rate,
        Hyperparameter.of("beta1", s.beta1),
        Hyperparameter.of("beta2", s.beta2),
        Hyperparameter.of("epsilon", s.epsilon),
        s);
  }

  private Adam(
      Hyperparameter rate,
      Hyperparameter beta1,
      Hyperparameter beta2,
      Hyperparameter epsilon,
      Settings settings) {
    super("Adam", rate, beta1, beta2, epsilon);
    this.rate = rate;
    this.beta1 = beta1;
    this.beta2 = beta2;
    this.epsilon = epsilon;
    this.settings = settings;
  }

  @Override
  protected String rule() {
    return "Adam";
  }

  @Override
  protected void createSlots(Scope scope, List<GraphVariable> variables) {
    if (beta1Power == null) {
      beta1Power = createShared(scope, variables, "beta1_power", Tensor.scalar(settings.beta1));
      beta2Power = createShared(scope, variables, "beta2_power", Tensor.scalar(settings.beta2));
    }
    super.createSlots(scope, variables);
  }

  @Override
  protected void createSlots(Scope scope, GraphVariable v) {
    createSlot(scope, v, "m", Initializers.zeros());
    createSlot(scope, v, "v", Initializers.zeros());
  }

  @Override
  protected void describe(UpdateOp u) {
    u.slot("m").slot("v");
    u.hyper(Hyperparameter.of("beta1_power", beta1Power.read()));
    u.hyper(Hyperparameter.of("beta2_power", beta2Power.read()));
    u.hyper(rate).hyper(beta1).hyper(beta2).hyper(epsilon).gradient();
  }

  /** Composed of simpler ops: all of the averages decay, though only some rows have a gradient. */
  @Override
  protected Node applySparse(Scope s, GraphVariable x, Grad.Rows rows) {
    Output gradient = rows.values();
    Output indices = rows.indices();
    Output one = beta2Power.read();
    Output root = Unary.sqrt(s, oneMinus(s, as(s, one, x)));
    Output mul = Arithmetic.mul(s.withName("mul"), rate.as(s, x.dtype()), root);
    Output step =
        Arithmetic.realDiv(s.withName("truediv"), mul, oneMinus(s, as(s, beta1Power.read(), x)));

    GraphVariable m = slots().get("m", x);
    Output b1 = beta1.as(s, x.dtype());
    Output freshM = Arithmetic.mul(s.withName("mul"), gradient, oneMinus(s, b1));
    Node newM = decayAndAdd(s, m, b1, indices, freshM);

    GraphVariable v = slots().get("v", x);
    Output b2 = beta2.as(s, x.dtype());
    Output squared = Arithmetic.mul(s.withName("mul"), gradient, gradient);
    Output freshV = Arithmetic.mul(s.withName("mul"), squared, oneMinus(s, b2));
    Node newV = decayAndAdd(s, v, b2, indices, freshV);

    Output size = Unary.sqrt(s, v.valueAfter(s, newV));
    Output along = Arithmetic.mul(s.withName("mul"), step, m.valueAfter(s, newM));
    Output divisor = Arithmetic.add(s.withName("add"), size, epsilon.as(s, x.dtype()));
    Node change = x.assignSub(s, Arithmetic.realDiv(s.withName("truediv"), along, divisor));
    return GroupNodes.of(s, "group_deps", List.of(change, newM, newV));
  }

  private static Node decayAndAdd(
      Scope s, GraphVariable slot, Output decay, Output indices, Output rows) {
    Output kept = Arithmetic.mul(s.withName("mul"), slot.read(), decay);
    Node decayed = slot.assign(s, kept);
    return slot.scatterAdd(s.withControlInputs(decayed), indices, rows);
  }

  private static Output oneMinus(Scope s, Output x) {
    Scope sub = s.withSubScope("sub");
    return Arithmetic.sub(sub.asNode(), Const.of(sub.withName("x"), x.dtype(), 1), x);
  }

  private static Output as(Scope s, Output value, GraphVariable x) {
    return Hyperparameter.of("", value).as(s, x.dtype());
  }

  @Override
  protected Node finish(Scope scope, Scope result, List<Node> updates) {
    Scope after = scope.withControlInputs(updates).colocatedWith(beta1Power.node());
    List<Node> all = new ArrayList<>(updates);
    all.add(multiply(scope, after, beta1Power, beta1));
    all.add(multiply(scope, after, beta2Power, beta2));
    return super.finish(scope, result, all);
  }

  private static Node multiply(Scope scope, Scope after, GraphVariable power, Hyperparameter by) {
    Output next = Arithmetic.mul(after.withName("mul"), power.read(), by.output());
    return power.assign(scope.colocatedWith(power.node()), next);
  }
}
