package dev.millrace.ops.nn;

import static dev.millrace.ops.math.Arithmetic.add;
import static dev.millrace.ops.math.Arithmetic.mul;
import static dev.millrace.ops.math.Arithmetic.realDiv;
import static dev.millrace.ops.math.Arithmetic.scaled;
import static dev.millrace.ops.math.Arithmetic.sub;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Select;
import dev.millrace.ops.array.ZerosLike;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.ops.math.Unary;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.elementwise.BinaryOp;
import dev.millrace.tensor.math.elementwise.Elementwise;
import dev.millrace.tensor.math.elementwise.UnaryOp;
import java.util.List;

/**
 * The nonlinearities, each with the op of its gradient. That op takes the gradient of the output
 * and the input; for Relu, Relu6, Elu and Selu the output serves as well or better.
 */
public final class Activations {
  private static final String REAL = "T: realnumbertype";

  /** Relu alone also takes quantised bytes, on some devices. */
  private static final String REAL_AND_QINT8 =
      "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32,"
          + " uint64, qint8}";

  private static final String FLOATING = "T: {half, bfloat16, float, double}";

  public static final Op RELU = forward("Relu", REAL_AND_QINT8, UnaryOp.RELU, true);
  public static final Op RELU_GRAD =
      backward("ReluGrad", REAL, "features", BinaryOp.RELU_GRAD, Activations::again);

  public static final Op RELU6 = forward("Relu6", REAL, UnaryOp.RELU6, true);
  public static final Op RELU6_GRAD =
      backward("Relu6Grad", REAL, "features", BinaryOp.RELU6_GRAD, Activations::again);

  public static final Op ELU = forward("Elu", FLOATING, UnaryOp.ELU, true);
  public static final Op ELU_GRAD =
      backward("EluGrad", FLOATING, "outputs", BinaryOp.ELU_GRAD, Activations::exponentialAgain);

  public static final Op SELU = forward("Selu", FLOATING, UnaryOp.SELU, true);
  public static final Op SELU_GRAD =
      backward("SeluGrad", FLOATING, "outputs", BinaryOp.SELU_GRAD, Activations::exponentialAgain);

  public static final Op SOFTPLUS = forward("Softplus", FLOATING, UnaryOp.SOFTPLUS, false);
  public static final Op SOFTPLUS_GRAD =
      backward(
          "SoftplusGrad", FLOATING, "features", BinaryOp.SOFTPLUS_GRAD, Activations::bellAgain);

  public static final Op SOFTSIGN = forward("Softsign", FLOATING, UnaryOp.SOFTSIGN, false);
  public static final Op SOFTSIGN_GRAD =
      backward(
          "SoftsignGrad", FLOATING, "features", BinaryOp.SOFTSIGN_GRAD, Activations::cuspAgain);

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

  private static Op forward(String name, String types, UnaryOp function, boolean byOutput) {
    return Op.define(name)
        .attr(types)
        .input("features: T")
        .output("activations: T")
        .shape(Shapes.like(0))
        .kernelPerNode(
            node -> {
              Supported.types(node, "T", DType.REAL);
              return c -> {
                Tensor x = c.input(0);
                Elementwise.unary(function, x, c.allocateOrReuse(0, 0, x.shape()));
              };
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
      String name, String types, String second, BinaryOp function, Gradient gradient) {
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
              Elementwise.binary(function, dy, x, c.allocateOrReuse(0, 0, s));
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
    Output zeros = ZerosLike.of(s, g.input(1));
    Output below = Comparisons.less(s, g.input(1), zeros);
    g.dx(1, Select.of(s, below, mul(s, g.dy(), g.input(0)), zeros));
  }

  /** The derivative of the logistic function, {@code s(x) (1 - s(x))}. */
  private static void bellAgain(GradientContext g) {
    again(g);
    Scope s = g.scope();
    Output logistic = Unary.sigmoid(s, g.input(1));
    Output bell = sub(s, logistic, Unary.square(s, logistic));
    g.dx(1, mul(s, mul(s, g.dy(), g.input(0)), bell));
  }

  /** The derivative of {@code 1 / (1 + |x|)^2}, {@code -2 sign(x) / (1 + |x|)^3}. */
  private static void cuspAgain(GradientContext g) {
    again(g);
    Scope s = g.scope();
    Output x = g.input(1);
    Output reach = add(s, s.add(Unary.ABS, x).output(), Const.of(s, x.dtype(), 1));
    Output slope = scaled(s, realDiv(s, s.add(Unary.SIGN, x).output(), reach), -2);
    g.dx(1, mul(s, mul(s, g.dy(), g.output(0)), slope));
  }
}
