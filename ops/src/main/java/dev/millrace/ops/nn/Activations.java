package dev.millrace.ops.nn;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.op.Gradient;
import dev.millrace.graph.op.GradientContext;
import dev.millrace.graph.op.Op;
import dev.millrace.graph.op.Shapes;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Activation;
import java.util.List;

/**
 * The nonlinearities, each with the op of its gradient. That op takes the gradient of the output
 * and the input; for Relu, Relu6, Elu and Selu the output serves as well or better.
 */
public final class Activations {
  private static final String REAL = "T: realnumbertype";
  private static final String FLOATING = "T: {half, bfloat16, float, double}";

  public static final Op RELU = forward("Relu", REAL, Activation.RELU, true);
  public static final Op RELU_GRAD =
      backward("ReluGrad", REAL, "features", Activation.RELU, Activations::again);

  public static final Op RELU6 = forward("Relu6", REAL, Activation.RELU6, true);
  public static final Op RELU6_GRAD =
      backward("Relu6Grad", REAL, "features", Activation.RELU6, Activations::again);

  public static final Op ELU = forward("Elu", FLOATING, Activation.ELU, true);
  public static final Op ELU_GRAD =
      backward("EluGrad", FLOATING, "outputs", Activation.ELU, Activations::exponentialAgain);

  public static final Op SELU = forward("Selu", FLOATING, Activation.SELU, true);
  public static final Op SELU_GRAD =
      backward("SeluGrad", FLOATING, "outputs", Activation.SELU, Activations::exponentialAgain);

  public static final Op SOFTPLUS = forward("Softplus", FLOATING, Activation.SOFTPLUS, false);
  public static final Op SOFTPLUS_GRAD =
      backward("SoftplusGrad", FLOATING, "features", Activation.SOFTPLUS, Activations::bellAgain);

  public static final Op SOFTSIGN = forward("Softsign", FLOATING, Activation.SOFTSIGN, false);
  public static final Op SOFTSIGN_GRAD =
      backward(
          "SoftsignGrad",
          FLOATING,
          "features",
          Activation.SOFTSIGN,
          Gradient.undefined("TensorFlow defines no second gradient of Softsign"));

  private Activations() {}

  /** {@code max(x, 0)}. */
  public static Output relu(Scope scope, Output x) {
    return scope.add(RELU, x).output();
  }

  /** {@code min(max(x, 0), 6)}. */
  public static Output relu6(Scope scope, Output x) {
    return scope.add(RELU6, x).output();
  }

  /** {@code exp(x) - 1} below zero, {@code x} above. */
  public static Output elu(Scope scope, Output x) {
    return scope.add(ELU, x).output();
  }

  /** Scaled {@link #elu}, which keeps mean 0 and variance 1. */
  public static Output selu(Scope scope, Output x) {
    return scope.add(SELU, x).output();
  }

  /** {@code log(1 + exp(x))}. */
  public static Output softplus(Scope scope, Output x) {
    return scope.add(SOFTPLUS, x).output();
  }

  /** {@code x / (1 + |x|)}. */
  public static Output softsign(Scope scope, Output x) {
    return scope.add(SOFTSIGN, x).output();
  }

  private static Op forward(String name, String types, Activation function, boolean byOutput) {
    return Op.define(name)
        .attr(types)
        .input("features: T")
        .output("activations: T")
        .shape(Shapes.like(0))
        .kernel(
            c -> {
              Tensor x = c.input(0);
              function.apply(x, c.allocateOrReuse(0, 0, x.shape()));
            })
        .gradient(
            g ->
                g.dx(
                    0,
                    g.scope()
                        .node(name + "Grad")
                        .input(g.dy())
                        .input(byOutput ? g.output(0) : g.input(0))
                        .add()
                        .output()))
        .build();
  }

  private static Op backward(
      String name, String types, String second, Activation function, Gradient gradient) {
    return Op.define(name)
        .attr(types)
        .input("gradients: T")
        .input(second + ": T")
        .output("backprops: T")
        .shape(c -> List.of(c.input(0).mergeWith(c.input(1))))
        .kernel(
            c -> {
              Tensor dy = c.input(0);
              Tensor x = c.input(1);
              Shape s = dy.shape();
              if (!s.equals(x.shape())) {
                throw MillraceException.invalid(
                    "Inputs to operation %s of type %s must have the same size and shape. "
                        + " Input 0: %s != input 1: %s",
                    c.node().name(), name, s, x.shape());
              }
              function.gradient(dy, x, c.allocateOrReuse(0, 0, s));
            })
        .gradient(gradient)
        .build();
  }

  /** Linear in the gradient, and flat in the features but for single points. */
  private static void again(GradientContext g) {
    g.dx(0, g.scope().node(g.node().op()).input(g.dy()).input(g.input(1)).add().output());
  }

  /** Linear in the gradient; where the output is negative also linear in the output. */
  private static void exponentialAgain(GradientContext g) {
    again(g);
    Scope s = g.scope();
    Output y = g.input(1);
    Output zeros = s.node("ZerosLike").input(y).add().output();
    Output below = s.node("Less").input(y).input(zeros).add().output();
    Output product = s.node("Mul").input(g.dy()).input(g.input(0)).add().output();
    g.dx(1, s.node("SelectV2").input(below).input(product).input(zeros).add().output());
  }

  /** The derivative of the logistic function, {@code s(x) (1 - s(x))}. */
  private static void bellAgain(GradientContext g) {
    again(g);
    Scope s = g.scope();
    Output logistic = s.node("Sigmoid").input(g.input(1)).add().output();
    Output squared = s.node("Square").input(logistic).add().output();
    Output bell = s.node("Sub").input(logistic).input(squared).add().output();
    Output product = s.node("Mul").input(g.dy()).input(g.input(0)).add().output();
    g.dx(1, s.node("Mul").input(product).input(bell).add().output());
  }
}
