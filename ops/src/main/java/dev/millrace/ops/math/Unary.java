package dev.millrace.ops.math;

import static dev.millrace.ops.math.Arithmetic.mul;
import static dev.millrace.ops.math.Arithmetic.scaled;
import static dev.millrace.ops.math.Arithmetic.sub;

import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.math.elementwise.Elementwise;
import dev.millrace.tensor.math.elementwise.NumberTest;
import dev.millrace.tensor.math.elementwise.UnaryOp;
import java.util.List;

/** The functions of one element: {@code y = f(x)} at every place. */
public final class Unary {
  private static final String REAL = "T: {bfloat16, half, float, double}";
  private static final String FLOATING =
      "T: {bfloat16, half, float, double, complex64, complex128}";
  private static final String SIGNED =
      "T: {bfloat16, half, float, double, int8, int16, int32, int64}";
  private static final String NUMBER =
      "T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}";

  /** The gradient of the input, built from the node's turn. */
  private interface Derivative {
    Output of(Scope s, GradientContext g);
  }

  public static final Op NEG = op("Neg", NUMBER, UnaryOp.NEG, (s, g) -> neg(s, g.dy()));
  public static final Op ABS =
      op("Abs", SIGNED, UnaryOp.ABS, (s, g) -> mul(s, g.dy(), of(s, Unary.SIGN, x(s, g))));
  public static final Op SQUARE =
      op(
          "Square",
          "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32,"
              + " uint64, complex64, complex128}",
          UnaryOp.SQUARE,
          (s, g) -> mul(s, g.dy(), scaled(s, x(s, g), 2)));
  public static final Op SQRT =
      op("Sqrt", FLOATING, UnaryOp.SQRT, (s, g) -> UnaryGrad.of(s, UnaryGrad.SQRT, g));
  public static final Op RSQRT =
      op("Rsqrt", FLOATING, UnaryOp.RSQRT, (s, g) -> UnaryGrad.of(s, UnaryGrad.RSQRT, g));
  public static final Op RECIPROCAL =
      op("Reciprocal", NUMBER, UnaryOp.RECIPROCAL, Unary::reciprocalGradient);

  /** The same under its older name. */
  public static final Op INV = op("Inv", NUMBER, UnaryOp.RECIPROCAL, Unary::reciprocalGradient);

  public static final Op EXP = op("Exp", FLOATING, UnaryOp.EXP, (s, g) -> mul(s, g.dy(), y(s, g)));
  public static final Op EXPM1 =
      op("Expm1", FLOATING, UnaryOp.EXPM1, (s, g) -> mul(s, g.dy(), exp(s, x(s, g))));
  public static final Op LOG =
      op("Log", FLOATING, UnaryOp.LOG, (s, g) -> mul(s, g.dy(), reciprocal(s, x(s, g))));
  public static final Op LOG1P =
      op(
          "Log1p",
          FLOATING,
          UnaryOp.LOG1P,
          (s, g) -> mul(s, g.dy(), reciprocal(s, Arithmetic.add(s, one(s, g), x(s, g)))));
  public static final Op TANH =
      op(
          "Tanh",
          FLOATING,
          UnaryOp.TANH,
          (s, g) -> UnaryGrad.of(s, UnaryGrad.TANH, y(s, g), g.dy()));
  public static final Op SIGMOID =
      op(
          "Sigmoid",
          FLOATING,
          UnaryOp.SIGMOID,
          (s, g) -> UnaryGrad.of(s, UnaryGrad.SIGMOID, y(s, g), g.dy()));
  public static final Op SIN =
      op("Sin", FLOATING, UnaryOp.SIN, (s, g) -> mul(s, g.dy(), of(s, Unary.COS, x(s, g))));
  public static final Op COS =
      op("Cos", FLOATING, UnaryOp.COS, (s, g) -> mul(s, neg(s, g.dy()), of(s, SIN, x(s, g))));
  public static final Op TAN =
      op(
          "Tan",
          FLOATING,
          UnaryOp.TAN,
          (s, g) -> mul(s, g.dy(), square(s, reciprocal(s, of(s, COS, x(s, g))))));
  public static final Op ASIN =
      op("Asin", FLOATING, UnaryOp.ASIN, (s, g) -> mul(s, g.dy(), overRoot(s, g)));
  public static final Op ACOS =
      op("Acos", FLOATING, UnaryOp.ACOS, (s, g) -> neg(s, mul(s, g.dy(), overRoot(s, g))));
  public static final Op ATAN =
      op(
          "Atan",
          FLOATING,
          UnaryOp.ATAN,
          (s, g) ->
              mul(s, g.dy(), reciprocal(s, Arithmetic.add(s, one(s, g), square(s, x(s, g))))));
  public static final Op SINH =
      op("Sinh", FLOATING, UnaryOp.SINH, (s, g) -> mul(s, g.dy(), of(s, Unary.COSH, x(s, g))));
  public static final Op COSH =
      op("Cosh", FLOATING, UnaryOp.COSH, (s, g) -> mul(s, g.dy(), of(s, SINH, x(s, g))));
  public static final Op ASINH =
      op(
          "Asinh",
          FLOATING,
          UnaryOp.ASINH,
          (s, g) -> Arithmetic.realDiv(s, g.dy(), of(s, COSH, y(s, g))));
  public static final Op ACOSH =
      op(
          "Acosh",
          FLOATING,
          UnaryOp.ACOSH,
          (s, g) -> Arithmetic.realDiv(s, g.dy(), of(s, SINH, y(s, g))));
  public static final Op ATANH =
      op(
          "Atanh",
          FLOATING,
          UnaryOp.ATANH,
          (s, g) -> mul(s, g.dy(), reciprocal(s, sub(s, one(s, g), square(s, x(s, g))))));
  public static final Op ERF = op("Erf", REAL, UnaryOp.ERF, (s, g) -> bell(s, g, 2));
  public static final Op ERFC = op("Erfc", REAL, UnaryOp.ERFC, (s, g) -> bell(s, g, -2));
  public static final Op SIGN = flat("Sign", NUMBER, UnaryOp.SIGN);
  public static final Op FLOOR = flat("Floor", REAL, UnaryOp.FLOOR);
  public static final Op CEIL = flat("Ceil", REAL, UnaryOp.CEIL);
  public static final Op ROUND = flat("Round", NUMBER, UnaryOp.ROUND);
  public static final Op RINT = flat("Rint", REAL, UnaryOp.ROUND);
  public static final Op IS_NAN = test("IsNan", NumberTest.IS_NAN);
  public static final Op IS_INF = test("IsInf", NumberTest.IS_INF);
  public static final Op IS_FINITE = test("IsFinite", NumberTest.IS_FINITE);
  public static final Op LOGICAL_NOT =
      Op.define("LogicalNot")
          .input("x: bool")
          .output("y: bool")
          .shape(Shapes.like(0))
          .kernelPerNode(node -> kernel(node, UnaryOp.LOGICAL_NOT))
          .noGradient("truth values are not differentiable")
          .build();

  static final List<Op> ALL =
      List.of(
          NEG,
          ABS,
          SQUARE,
          SQRT,
          RSQRT,
          RECIPROCAL,
          INV,
          EXP,
          EXPM1,
          LOG,
          LOG1P,
          TANH,
          SIGMOID,
          SIN,
          COS,
          TAN,
          ASIN,
          ACOS,
          ATAN,
          SINH,
          COSH,
          ASINH,
          ACOSH,
          ATANH,
          ERF,
          ERFC,
          SIGN,
          FLOOR,
          CEIL,
          ROUND,
          RINT,
          IS_NAN,
          IS_INF,
          IS_FINITE,
          LOGICAL_NOT);

  private Unary() {}

  /** Adds {@code op}, one of this class, of {@code x}. */
  public static Output of(Scope scope, Op op, Output x) {
    return scope.add(op, x).output();
  }

  /** {@code -x}. */
  public static Output neg(Scope scope, Output x) {
    return of(scope, NEG, x);
  }

  /** {@code x * x}. */
  public static Output square(Scope scope, Output x) {
    return of(scope, SQUARE, x);
  }

  /** The square root; NaN of negative numbers. */
  public static Output sqrt(Scope scope, Output x) {
    return of(scope, SQRT, x);
  }

  /** {@code e} to the power of {@code x}. */
  public static Output exp(Scope scope, Output x) {
    return of(scope, EXP, x);
  }

  /** The natural logarithm; NaN of negative numbers. */
  public static Output log(Scope scope, Output x) {
    return of(scope, LOG, x);
  }

  /** The hyperbolic tangent. */
  public static Output tanh(Scope scope, Output x) {
    return of(scope, TANH, x);
  }

  /** {@code 1 / (1 + exp(-x))}. */
  public static Output sigmoid(Scope scope, Output x) {
    return of(scope, SIGMOID, x);
  }

  /** {@code 1 / x}. */
  public static Output reciprocal(Scope scope, Output x) {
    return of(scope, RECIPROCAL, x);
  }

  private static Output reciprocalGradient(Scope s, GradientContext g) {
    return UnaryGrad.of(s, UnaryGrad.RECIPROCAL, g);
  }

  /** The input as derivatives have it: its conjugate, if it is complex. */
  private static Output x(Scope s, GradientContext g) {
    return ComplexParts.conj(s, g.input(0));
  }

  /** The output as derivatives have it: its conjugate, if it is complex. */
  private static Output y(Scope s, GradientContext g) {
    return ComplexParts.conj(s, g.output(0));
  }

  private static Output one(Scope s, GradientContext g) {
    return Const.of(s, g.input(0).dtype(), 1);
  }

  /** 1 / sqrt(1 - x^2). */
  private static Output overRoot(Scope s, GradientContext g) {
    return reciprocal(s, sqrt(s, sub(s, one(s, g), square(s, x(s, g)))));
  }

  /** dy * factor / sqrt(pi) * exp(-x^2). */
  private static Output bell(Scope s, GradientContext g, double factor) {
    Output bell = exp(s, neg(s, square(s, x(s, g))));
    return mul(s, scaled(s, g.dy(), factor / Math.sqrt(Math.PI)), bell);
  }

  private static Op.Builder shaped(String name, String types, UnaryOp f) {
    return Op.define(name)
        .attr(types)
        .input("x: T")
        .output("y: T")
        .shape(Shapes.like(0))
        .kernelPerNode(node -> kernel(node, f));
  }

  private static Op op(String name, String types, UnaryOp f, Derivative d) {
    return shaped(name, types, f).gradient(g -> g.dx(0, d.of(g.scope(), g))).build();
  }

  private static Op flat(String name, String types, UnaryOp f) {
    return shaped(name, types, f).noGradient("it is piecewise constant").build();
  }

  private static Op test(String name, NumberTest f) {
    return Op.define(name)
        .attr(REAL)
        .input("x: T")
        .output("y: bool")
        .shape(Shapes.like(0))
        .kernel(c -> Elementwise.test(f, c.input(0), c.allocate(0, c.input(0).shape())))
        .noGradient("truth values are not differentiable")
        .build();
  }

  private static Kernel kernel(Node node, UnaryOp f) {
    DType type = node.input(0).dtype();
    Refusal.unless(f.supports(type), node, type);
    return c -> Elementwise.unary(f, c.input(0), c.allocateOrReuse(0, 0, c.input(0).shape()));
  }
}
