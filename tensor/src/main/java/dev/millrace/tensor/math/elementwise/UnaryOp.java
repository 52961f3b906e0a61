package dev.millrace.tensor.math.elementwise;

import static dev.millrace.tensor.math.elementwise.Formula.X;
import static dev.millrace.tensor.math.elementwise.Formula.choose;
import static dev.millrace.tensor.math.elementwise.Formula.number;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.math.complex.Complex;
import dev.millrace.tensor.math.lanes.LaneType;
import java.util.function.DoubleUnaryOperator;
import java.util.function.LongUnaryOperator;
import java.util.function.UnaryOperator;

/**
 * Functions of one element. Each is defined by its scalar form, which computes in double and rounds
 * once; the vector loop agrees with it to a few units in the last place, and exactly for integers.
 * NaN stays NaN. Integers wrap around.
 */
public enum UnaryOp {
  NEG(x -> -x, x -> -x, X.negated()),
  ABS(Math::abs, Math::abs, X.abs()),
  SQUARE(x -> x * x, x -> x * x, X.squared()),
  SQRT(Math::sqrt, X.sqrt()),
  RSQRT(x -> 1 / Math.sqrt(x), number(1).over(X.sqrt())),
  RECIPROCAL(x -> 1 / x, number(1).over(X)),
  EXP(Math::exp, X.exp()),
  EXPM1(Math::expm1, X.apply(Formula.Function.EXPM1)),
  LOG(Math::log, X.apply(Formula.Function.LOG)),
  LOG1P(Math::log1p, X.apply(Formula.Function.LOG1P)),
  SIN(Math::sin, X.apply(Formula.Function.SIN)),
  COS(Math::cos, X.apply(Formula.Function.COS)),
  TAN(Math::tan, X.apply(Formula.Function.TAN)),
  ASIN(Math::asin, X.apply(Formula.Function.ASIN)),
  ACOS(Math::acos, X.apply(Formula.Function.ACOS)),
  ATAN(Math::atan, X.apply(Formula.Function.ATAN)),
  SINH(Math::sinh, X.apply(Formula.Function.SINH)),
  COSH(Math::cosh, X.apply(Formula.Function.COSH)),
  ASINH(x -> Inverse.asinh(x)),
  ACOSH(x -> Inverse.acosh(x)),
  ATANH(x -> 0.5 * (Math.log1p(x) - Math.log1p(-x))),
  TANH(Math::tanh, new Formula.ByPrecision(X.apply(Formula.Function.TANH), tanh())),
  ERF(Erf::erf),
  ERFC(Erf::erfc),

  /** 1 / (1 + e^-x). */
  SIGMOID(x -> 1 / (1 + Math.exp(-x)), number(1).over(X.negated().exp().plus(1))),

  /** -1, 0 or 1. */
  SIGN(
      x -> x > 0 ? 1 : x < 0 ? -1 : x + 0,
      x -> Long.signum(x),
      choose(
          X.is(Formula.Relation.GT, 0),
          number(1),
          choose(X.is(Formula.Relation.LT, 0), number(-1), X.plus(0)))),

  /** max(x, 0). */
  RELU(
      x -> Math.max(x, 0),
      x -> Math.max(x, 0),
      choose(X.is(Formula.Relation.LE, 0), number(0), X),
      choose(X.is(Formula.Relation.LE, 0), number(0), X),
      X),

  /** min(max(x, 0), 6). */
  RELU6(
      x -> Math.min(Math.max(x, 0), 6),
      x -> Math.min(Math.max(x, 0), 6),
      choose(
          X.is(Formula.Relation.LE, 0),
          number(0),
          choose(X.is(Formula.Relation.GT, 6), number(6), X)),
      X.max(0).min(6),
      X.apply(Formula.Function.UMIN, number(6))),

  /** x, or e^x - 1 below 0. */
  ELU(
      x -> x < 0 ? Math.expm1(x) : x,
      choose(X.is(Formula.Relation.LT, 0), X.apply(Formula.Function.EXPM1), X)),

  /** ELU scaled so that activations keep mean 0 and variance 1. */
  SELU(
      x -> x < 0 ? Selu.SCALE_ALPHA * Math.expm1(x) : Selu.SCALE * x,
      choose(
          X.is(Formula.Relation.LT, 0),
          X.apply(Formula.Function.EXPM1).times(Selu.SCALE_ALPHA),
          X.times(Selu.SCALE))),

  /** log(1 + e^x), without overflow. */
  SOFTPLUS(
      x -> Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))),
      X.max(0).plus(X.abs().negated().exp().apply(Formula.Function.LOG1P))),

  /** x / (1 + |x|). */
  SOFTSIGN(x -> x / (1 + Math.abs(x)), X.over(X.abs().plus(1))),
  FLOOR(Math::floor, X.floor()),
  CEIL(Math::ceil, X.ceil()),

  /** The nearest integer, ties to the even one. */
  ROUND(Math::rint, x -> x, X.rint(), X),

  /** The same number, if it is real. */
  CONJ(x -> x, x -> x, X),

  /** Of bool elements only. */
  LOGICAL_NOT(null, x -> x ^ 1, X.apply(Formula.Function.XOR, number(1)));

  /** The inverse hyperbolic functions that Java has not, without cancellation. */
  private static final class Inverse {
    static double asinh(double x) {
      double size = Math.abs(x);
      double sum = size > 1e150 ? size : size + size * size / (1 + Math.hypot(1, size));
      double log = size > 1e150 ? Math.log(size) + Math.log(2) : Math.log1p(sum);
      return Math.copySign(log, x);
    }

    static double acosh(double x) {
      double above = x - 1;
      return x > 1e150
          ? Math.log(x) + Math.log(2)
          : Math.log1p(above + Math.sqrt(above * above + 2 * above));
    }

    private Inverse() {}
  }

  /** The constants of SELU. */
  static final class Selu {
    static final double SCALE = 1.0507009873554804934193349852946;
    static final double SCALE_ALPHA = 1.7580993408473768599402175208123;

    private Selu() {}
  }

  private final DoubleUnaryOperator real;
  private final LongUnaryOperator whole;
  private final Recipe realRecipe;
  private final Recipe wholeRecipe;

  /** For uint64, the one type whose values a signed computation would get wrong. */
  private final Recipe unsignedRecipe;

  UnaryOp(DoubleUnaryOperator real) {
    this(real, null, Recipe.scalar(false, (x, _) -> real.applyAsDouble(x), null), null, null);
  }

  UnaryOp(DoubleUnaryOperator real, Formula formula) {
    this(real, null, Recipe.map(1, formula), null, null);
  }

  UnaryOp(DoubleUnaryOperator real, LongUnaryOperator whole, Formula formula) {
    this(real, whole, formula, formula);
  }

  UnaryOp(DoubleUnaryOperator real, LongUnaryOperator whole, Formula ofReal, Formula ofWhole) {
    this(real, whole, ofReal, ofWhole, ofWhole);
  }

  UnaryOp(
      DoubleUnaryOperator real,
      LongUnaryOperator whole,
      Formula ofReal,
      Formula ofWhole,
      Formula ofUnsigned) {
    this(real, whole, Recipe.map(1, ofReal), Recipe.map(1, ofWhole), Recipe.map(1, ofUnsigned));
  }

  UnaryOp(
      DoubleUnaryOperator real,
      LongUnaryOperator whole,
      Recipe realRecipe,
      Recipe wholeRecipe,
      Recipe unsignedRecipe) {
    this.real = real;
    this.whole = whole;
    this.realRecipe = realRecipe;
    this.wholeRecipe = wholeRecipe;
    this.unsignedRecipe = unsignedRecipe;
  }

  /** Whether elements of this type can be computed. */
  public boolean supports(DType type) {
    if (type == DType.BOOL || this == LOGICAL_NOT) {
      return type == DType.BOOL && this == LOGICAL_NOT;
    }
    if (type.isComplex()) {
      return complex() != null;
    }
    return type.isFloating() ? real != null : type.isIntegral() && whole != null;
  }

  /** The definition for complex types; null if there is none. */
  public UnaryOperator<Complex> complex() {
    return switch (this) {
      case NEG -> Complex::negated;
      case SQUARE -> Complex::squared;
      case SQRT -> Complex::sqrt;
      case RSQRT -> x -> x.sqrt().reciprocal();
      case RECIPROCAL -> Complex::reciprocal;
      case EXP -> Complex::exp;
      case EXPM1 -> Complex::expm1;
      case LOG -> Complex::log;
      case LOG1P -> Complex::log1p;
      case SIN -> Complex::sin;
      case COS -> Complex::cos;
      case TAN -> Complex::tan;
      case ASIN -> Complex::asin;
      case ACOS -> Complex::acos;
      case ATAN -> Complex::atan;
      case SINH -> Complex::sinh;
      case COSH -> Complex::cosh;
      case TANH -> Complex::tanh;
      case ASINH -> Complex::asinh;
      case ACOSH -> Complex::acosh;
      case ATANH -> Complex::atanh;
      case SIGMOID -> Complex::sigmoid;
      case SIGN -> Complex::sign;
      case CONJ -> Complex::conjugate;
      default -> null;
    };
  }

  /** The definition for floating types. */
  public double of(double x) {
    return real.applyAsDouble(x);
  }

  /** The definition for integers and, as 0 or 1, bool. */
  public long of(long x) {
    return whole.applyAsLong(x);
  }

  /** The definition for integers of this type: in uint64 nothing is below zero. */
  public long of(DType type, long x) {
    if (type != DType.UINT64 || x >= 0) {
      return of(x);
    }
    return switch (this) {
      case RELU -> x;
      case RELU6 -> 6;
      default -> of(x);
    };
  }

  Recipe recipe(LaneType lane, DType type) {
    return lane.isFloating() ? realRecipe : type == DType.UINT64 ? unsignedRecipe : wholeRecipe;
  }

  /** For doubles, as the library's tanh has no fast form for short vectors of them. */
  private static Formula tanh() {
    // From 20 on the result is 1 to the last bit, and e^2x - 1 cannot overflow before.
    Formula t = X.abs().min(20).times(2).apply(Formula.Function.EXPM1);
    Formula size = t.over(t.plus(2));
    Formula signed = choose(X.is(Formula.Relation.LT, 0), size.negated(), size);
    return choose(X.is(Formula.Relation.EQ, 0), X, signed);
  }
}
