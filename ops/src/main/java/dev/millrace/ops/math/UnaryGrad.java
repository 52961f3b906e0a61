package dev.millrace.ops.math;

import static dev.millrace.ops.math.Arithmetic.mul;
import static dev.millrace.ops.math.Arithmetic.scaled;
import static dev.millrace.ops.math.ComplexParts.conj;

import dev.millrace.graph.Gradient;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.LastShape;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.math.elementwise.BinaryOp;
import dev.millrace.tensor.math.elementwise.Elementwise;
import java.util.List;

/**
 * Gradients that need only the output {@code y} of a function and the gradient {@code dy} of it.
 */
public final class UnaryGrad {
  public static final Op SQRT = op("SqrtGrad", BinaryOp.SQRT_GRAD, UnaryGrad::ofSqrt);
  public static final Op RSQRT = op("RsqrtGrad", BinaryOp.RSQRT_GRAD, UnaryGrad::ofRsqrt);
  public static final Op RECIPROCAL =
      op("ReciprocalGrad", BinaryOp.RECIPROCAL_GRAD, UnaryGrad::ofReciprocal);

  /** The same under its older name. */
  public static final Op INV = op("InvGrad", BinaryOp.RECIPROCAL_GRAD, UnaryGrad::ofReciprocal);

  public static final Op TANH = op("TanhGrad", BinaryOp.TANH_GRAD, UnaryGrad::ofTanh);
  public static final Op SIGMOID = op("SigmoidGrad", BinaryOp.SIGMOID_GRAD, UnaryGrad::ofSigmoid);

  static final List<Op> ALL = List.of(SQRT, RSQRT, RECIPROCAL, INV, TANH, SIGMOID);

  private UnaryGrad() {}

  /** The gradient that goes on from the node whose turn it is. */
  static Output of(Scope scope, Op op, GradientContext g) {
    return of(scope, op, g.output(0), g.dy());
  }

  /** Adds {@code op}, one of this class, of an output and its gradient. */
  public static Output of(Scope scope, Op op, Output y, Output dy) {
    return scope.add(op, y, dy).output();
  }

  private static Op op(String name, BinaryOp f, Gradient gradient) {
    return Op.define(name)
        .attr("T: {bfloat16, half, float, double, complex64, complex128}")
        .input("y: T")
        .input("dy: T")
        .output("z: T")
        .shape(c -> List.of(c.input(0).mergeWith(c.input(1))))
        .kernelPerNode(node -> kernel(node, f))
        .gradient(gradient)
        .build();
  }

  private static Kernel kernel(Node node, BinaryOp f) {
    DType type = node.input(0).dtype();
    Refusal.unless(f.supports(type), node, type);
    LastShape both = new LastShape(Shape::mergeWith);
    return c -> {
      Shape s = both.of(c.input(0).shape(), c.input(1).shape());
      Elementwise.binary(f, c.input(0), c.input(1), result(c, s));
    };
  }

  /** A result in the memory of whichever input of its size is read no more. */
  static dev.millrace.tensor.Tensor result(KernelContext c, Shape s) {
    boolean first = c.input(0).elements() == s.elements() && c.reusable(0) != null;
    return c.allocateOrReuse(0, first ? 0 : 1, s);
  }

  private static void ofSqrt(GradientContext g) {
    Scope s = g.scope();
    Output ga = Arithmetic.realDiv(s, g.dy(), g.input(0));
    g.dx(0, mul(s, Unary.neg(s, conj(s, ga)), g.output(0)));
    g.dx(1, scaled(s, ga, 0.5));
  }

  private static void ofRsqrt(GradientContext g) {
    Scope s = g.scope();
    Output y = conj(s, g.input(0));
    Output scaled = scaled(s, conj(s, g.dy()), -1.5);
    g.dx(0, mul(s, mul(s, scaled, g.input(1)), Unary.square(s, y)));
    g.dx(1, of(s, RSQRT, y, g.dy()));
  }

  private static void ofReciprocal(GradientContext g) {
    Scope s = g.scope();
    Output y = conj(s, g.input(0));
    g.dx(0, mul(s, mul(s, scaled(s, conj(s, g.dy()), -2), g.input(1)), y));
    g.dx(1, of(s, RECIPROCAL, y, g.dy()));
  }

  private static void ofTanh(GradientContext g) {
    Scope s = g.scope();
    Output y = conj(s, g.input(0));
    g.dx(0, mul(s, mul(s, scaled(s, g.dy(), -2), conj(s, g.input(1))), y));
    g.dx(1, of(s, TANH, y, g.dy()));
  }

  private static void ofSigmoid(GradientContext g) {
    Scope s = g.scope();
    Output y = conj(s, g.input(0));
    Output gb = mul(s, g.dy(), conj(s, g.input(1)));
    g.dx(0, Arithmetic.sub(s, gb, mul(s, scaled(s, gb, 2), y)));
    g.dx(1, of(s, SIGMOID, y, g.dy()));
  }
}
