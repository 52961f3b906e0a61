package dev.millrace.tensor.math.elementwise;

import static dev.millrace.tensor.math.elementwise.Formula.X;
import static dev.millrace.tensor.math.elementwise.Formula.Y;
import static dev.millrace.tensor.math.elementwise.Formula.choose;
import static dev.millrace.tensor.math.elementwise.Formula.number;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.math.complex.Complex;
import dev.millrace.tensor.math.lanes.LaneType;
import java.util.function.BinaryOperator;
import java.util.function.DoubleBinaryOperator;
import java.util.function.LongBinaryOperator;

/**
 * Functions of two elements. Each is defined by its scalar form, which computes in double and
 * rounds once; the vector loop agrees with it to a few units in the last place, and exactly for
 * integers, which wrap around. The gradients take their operands in TensorFlow's order, which is
 * not the same for all of them.
 */
public enum BinaryOp {
  ADD(Double::sum, Long::sum, X.plus(Y)),
  SUB((x, y) -> x - y, (x, y) -> x - y, X.minus(Y)),
  MUL((x, y) -> x * y, (x, y) -> x * y, X.times(Y)),

  /** x / y; integers are cut towards zero. */
  DIV(
      (x, y) -> x / y,
      (x, y) -> x / nonZero(y),
      vector(X.over(Y)),
      null,
      unsigned(Long::divideUnsigned)),

  /** x / y without its fraction. */
  TRUNCATE_DIV(
      (x, y) -> x / y < 0 ? Math.ceil(x / y) : Math.floor(x / y),
      (x, y) -> x / nonZero(y),
      vector(choose(X.over(Y).is(Formula.Relation.LT, 0), X.over(Y).ceil(), X.over(Y).floor())),
      null,
      unsigned(Long::divideUnsigned)),

  /** floor(x / y). */
  FLOOR_DIV(
      (x, y) -> Math.floor(x / y),
      (x, y) -> Math.floorDiv(x, nonZero(y)),
      vector(X.over(Y).floor()),
      null,
      unsigned(Long::divideUnsigned)),

  /** The remainder that has the sign of y. */
  FLOOR_MOD(
      BinaryOp::floorMod,
      (x, y) -> Math.floorMod(x, nonZero(y)),
      null,
      null,
      unsigned(Long::remainderUnsigned)),

  /** The remainder that has the sign of x. */
  TRUNCATE_MOD(
      (x, y) -> x % y, (x, y) -> x % nonZero(y), null, null, unsigned(Long::remainderUnsigned)),

  /** x / y, and 0 where y is 0. */
  DIV_NO_NAN(
      (x, y) -> y == 0 ? 0 : x / y, choose(Y.is(Formula.Relation.EQ, 0), number(0), X.over(Y))),

  /** x * y, and 0 where y is 0 whatever x is. */
  MUL_NO_NAN(
      (x, y) -> y == 0 ? 0 : x * y, choose(Y.is(Formula.Relation.EQ, 0), number(0), X.times(Y))),

  /** NaN if either is. */
  MAXIMUM(
      Math::max,
      Math::max,
      vector(X.max(Y)),
      vector(X.max(Y)),
      vector(X.apply(Formula.Function.UMAX, Y))),

  /** NaN if either is. */
  MINIMUM(
      Math::min,
      Math::min,
      vector(X.min(Y)),
      vector(X.min(Y)),
      vector(X.apply(Formula.Function.UMIN, Y))),

  /** y where it is above x, else x; NaN is above nothing. */
  RAISE(
      (x, y) -> y > x ? y : x,
      Math::max,
      vector(choose(Y.is(Formula.Relation.GT, X), Y, X)),
      vector(X.max(Y)),
      vector(X.apply(Formula.Function.UMAX, Y))),

  /** y where it is below x, else x; NaN is below nothing. */
  LOWER(
      (x, y) -> y < x ? y : x,
      Math::min,
      vector(choose(Y.is(Formula.Relation.LT, X), Y, X)),
      vector(X.min(Y)),
      vector(X.apply(Formula.Function.UMIN, Y))),

  /** As IEEE 754 has it, where 1 to any power is 1, and so is -1 to an infinite one. */
  POW(
      (x, y) -> x == 1 || (x == -1 && Double.isInfinite(y)) ? 1 : Math.pow(x, y),
      BinaryOp::power,
      vector(
          choose(
              X.is(Formula.Relation.EQ, 1),
              number(1),
              choose(
                  X.is(Formula.Relation.EQ, -1)
                      .and(Y.abs().is(Formula.Relation.EQ, Double.POSITIVE_INFINITY)),
                  number(1),
                  X.apply(Formula.Function.POW, Y)))),
      null,
      null),
  ATAN2(Math::atan2, X.apply(Formula.Function.ATAN2, Y)),

  /** (x - y)^2. */
  SQUARED_DIFFERENCE(
      (x, y) -> (x - y) * (x - y), (x, y) -> (x - y) * (x - y), X.minus(Y).squared()),

  /** Of gradient x and feature y: x where y is positive. */
  RELU_GRAD(
      (x, y) -> x * (y > 0 ? 1 : 0),
      (x, y) -> x * (y > 0 ? 1 : 0),
      gate(Y.is(Formula.Relation.GT, 0)),
      gate(Y.is(Formula.Relation.GT, 0)),
      gate(Y.is(Formula.Relation.NE, 0))),

  /** Of gradient x and feature y: x where y is between 0 and 6. */
  RELU6_GRAD(
      (x, y) -> x * (y > 0 && y < 6 ? 1 : 0),
      (x, y) -> x * (y > 0 && y < 6 ? 1 : 0),
      gate(Y.is(Formula.Relation.GT, 0).and(Y.is(Formula.Relation.LT, 6))),
      gate(Y.is(Formula.Relation.GT, 0).and(Y.is(Formula.Relation.LT, 6))),
      gate(Y.is(Formula.Relation.NE, 0).and(Y.is(Formula.Relation.ULT, 6)))),

  /** Of gradient x and output y. */
  ELU_GRAD(
      (x, y) -> y < 0 ? x * (y + 1) : x,
      choose(Y.is(Formula.Relation.LT, 0), X.times(Y.plus(1)), X)),

  /** Of gradient x and output y. */
  SELU_GRAD(
      (x, y) -> y < 0 ? x * (y + UnaryOp.Selu.SCALE_ALPHA) : x * UnaryOp.Selu.SCALE,
      choose(
          Y.is(Formula.Relation.LT, 0),
          X.times(Y.plus(UnaryOp.Selu.SCALE_ALPHA)),
          X.times(UnaryOp.Selu.SCALE))),

  /** Of gradient x and feature y. */
  SOFTPLUS_GRAD((x, y) -> x / (Math.exp(-y) + 1), X.over(Y.negated().exp().plus(1))),

  /** Of gradient x and feature y. */
  SOFTSIGN_GRAD(
      (x, y) -> x / ((1 + Math.abs(y)) * (1 + Math.abs(y))), X.over(Y.abs().plus(1).squared())),

  /** Of output x and gradient y. */
  TANH_GRAD((x, y) -> y * (1 - x * x), Y.times(number(1).minus(X.squared()))),

  /** Of output x and gradient y. */
  SIGMOID_GRAD((x, y) -> y * x * (1 - x), Y.times(X).times(number(1).minus(X))),

  /** Of output x and gradient y; no gradient stays none, whatever the output. */
  SQRT_GRAD(
      (x, y) -> y == 0 ? 0 : y * 0.5 / x,
      choose(Y.is(Formula.Relation.EQ, 0), number(0), Y.times(0.5).over(X))),

  /** Of output x and gradient y; no gradient stays none, whatever the output. */
  RSQRT_GRAD(
      (x, y) -> y == 0 ? 0 : y * -0.5 * (x * x * x),
      choose(Y.is(Formula.Relation.EQ, 0), number(0), Y.times(-0.5).times(X.squared().times(X)))),

  /** Of output x and gradient y; no gradient stays none, whatever the output. */
  RECIPROCAL_GRAD(
      (x, y) -> y == 0 ? 0 : -y * (x * x),
      choose(Y.is(Formula.Relation.EQ, 0), number(0), Y.negated().times(X.squared()))),

  /** Of bool elements, and bit by bit of integers. */
  AND(null, (x, y) -> x & y, X.apply(Formula.Function.AND, Y)),

  /** Of bool elements, and bit by bit of integers. */
  OR(null, (x, y) -> x | y, X.apply(Formula.Function.OR, Y)),

  /** Of bool elements, and bit by bit of integers. */
  XOR(null, (x, y) -> x ^ y, X.apply(Formula.Function.XOR, Y));

  private final DoubleBinaryOperator real;
  private final LongBinaryOperator whole;
  private final Recipe realRecipe;
  private final Recipe wholeRecipe;

  /** For uint64, the one type whose values a signed computation would get wrong. */
  private final Recipe unsignedRecipe;

  BinaryOp(DoubleBinaryOperator real, Formula formula) {
    this(real, null, vector(formula), null, null);
  }

  BinaryOp(DoubleBinaryOperator real, LongBinaryOperator whole, Formula formula) {
    this(real, whole, vector(formula), vector(formula), null);
  }

  /** A recipe that is null goes one element at a time; with no own one, uint64 is as int64. */
  BinaryOp(
      DoubleBinaryOperator real,
      LongBinaryOperator whole,
      Recipe ofReal,
      Recipe ofWhole,
      Recipe ofUnsigned) {
    this.real = real;
    this.whole = whole;
    this.realRecipe = ofReal == null ? Recipe.scalar(true, real, null) : ofReal;
    this.wholeRecipe = ofWhole == null ? Recipe.scalar(true, null, whole) : ofWhole;
    this.unsignedRecipe = ofUnsigned == null ? wholeRecipe : ofUnsigned;
  }

  /** Whether elements of this type can be computed. */
  public boolean supports(DType type) {
    if (type == DType.BOOL) {
      return this == AND || this == OR || this == XOR;
    }
    if (type.isComplex()) {
      return complex() != null;
    }
    return type.isFloating() ? real != null : type.isIntegral() && whole != null;
  }

  /** The definition for complex types; null if there is none. */
  public BinaryOperator<Complex> complex() {
    return switch (this) {
      case ADD -> Complex::plus;
      case SUB -> Complex::minus;
      case MUL -> Complex::times;
      case DIV -> Complex::over;
      case DIV_NO_NAN -> (x, y) -> y.isZero() ? Complex.ZERO : x.over(y);
      case MUL_NO_NAN -> (x, y) -> y.isZero() ? Complex.ZERO : x.times(y);
      case POW -> Complex::pow;
      case SQUARED_DIFFERENCE -> (x, y) -> x.minus(y).conjugate().times(x.minus(y));
      case TANH_GRAD -> (x, y) -> y.times(Complex.ONE.minus(x.squared()));
      case SIGMOID_GRAD -> (x, y) -> y.times(x).times(Complex.ONE.minus(x));
      case SQRT_GRAD -> (x, y) -> y.isZero() ? y : y.times(0.5).over(x.conjugate());
      case RSQRT_GRAD ->
          (x, y) ->
              y.isZero() ? y : y.times(-0.5).times(x.conjugate().squared().times(x.conjugate()));
      case RECIPROCAL_GRAD -> (x, y) -> y.isZero() ? y : y.negated().times(x.conjugate().squared());
      default -> null;
    };
  }

  /** The definition for floating types. */
  public double of(double x, double y) {
    return real.applyAsDouble(x, y);
  }

  /** The definition for integers and, as 0 or 1, bool. */
  public long of(long x, long y) {
    return whole.applyAsLong(x, y);
  }

  /** The definition for integers of this type: in uint64 nothing is below zero. */
  public long of(DType type, long x, long y) {
    if (type != DType.UINT64) {
      return of(x, y);
    }
    return switch (this) {
      case DIV, TRUNCATE_DIV, FLOOR_DIV -> Long.divideUnsigned(x, nonZero(y));
      case FLOOR_MOD, TRUNCATE_MOD -> Long.remainderUnsigned(x, nonZero(y));
      case MAXIMUM, RAISE -> Long.compareUnsigned(x, y) < 0 ? y : x;
      case MINIMUM, LOWER -> Long.compareUnsigned(x, y) > 0 ? y : x;
      case RELU_GRAD -> y != 0 ? x : 0;
      case RELU6_GRAD -> y != 0 && Long.compareUnsigned(y, 6) < 0 ? x : 0;
      default -> of(x, y);
    };
  }

  Recipe recipe(LaneType lane, DType type) {
    return lane.isFloating() ? realRecipe : type == DType.UINT64 ? unsignedRecipe : wholeRecipe;
  }

  private static Recipe vector(Formula formula) {
    return Recipe.map(2, formula);
  }

  /** The gradient x where {@code open}, and 0 times it elsewhere. */
  private static Recipe gate(Condition open) {
    return vector(X.times(choose(open, number(1), number(0))));
  }

  private static Recipe unsigned(LongBinaryOperator function) {
    return Recipe.scalar(true, null, (x, y) -> function.applyAsLong(x, nonZero(y)));
  }

  private static long nonZero(long y) {
    if (y == 0) {
      throw MillraceException.invalid("Integer division by zero");
    }
    return y;
  }

  private static double floorMod(double x, double y) {
    double m = x % y;
    return m != 0 && (y < 0) != (m < 0) ? m + y : m;
  }

  private static long power(long x, long y) {
    if (y < 0) {
      throw MillraceException.invalid(
          "Integers to negative integer powers are not allowed: %d to the power of %d.", x, y);
    }
    long result = 1;
    for (long base = x, left = y; left > 0; left >>= 1, base *= base) {
      if ((left & 1) != 0) {
        result *= base;
      }
    }
    return result;
  }
}
