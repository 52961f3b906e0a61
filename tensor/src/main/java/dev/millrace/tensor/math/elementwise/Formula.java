package dev.millrace.tensor.math.elementwise;

import java.util.List;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorOperators.Comparison;

/**
 * What an element of a result is computed from, written as one expression over the elements at the
 * same place of the operands. {@link LoopCompiler} makes the loop. Equal subexpressions are
 * computed once.
 */
public sealed interface Formula extends Expression {
  /** The first operand, where there is no better name. */
  Formula X = new Input(0);

  /** The second operand. */
  Formula Y = new Input(1);

  /** The element of an operand. */
  record Input(int operand) implements Formula {}

  /** A number that is given when the loop runs, the same for all elements. */
  record Parameter(int index) implements Formula {}

  /** A number known beforehand, rounded to the type of the loop. */
  record Constant(double value) implements Formula {}

  /** A function of the Vector API applied lane by lane. */
  record Call(VectorOperators.Operator function, List<Formula> arguments) implements Formula {}

  /** One of two values. */
  record Choice(Condition condition, Formula yes, Formula no) implements Formula {}

  /** One expression in a loop over floats, another in one over doubles. */
  record ByPrecision(Formula single, Formula twice) implements Formula {}

  static Formula input(int operand) {
    return new Input(operand);
  }

  static Formula parameter(int index) {
    return new Parameter(index);
  }

  static Formula number(double value) {
    return new Constant(value);
  }

  static Formula choose(Condition condition, Formula yes, Formula no) {
    return new Choice(condition, yes, no);
  }

  default Formula apply(VectorOperators.Unary function) {
    return new Call(function, List.of(this));
  }

  default Formula apply(VectorOperators.Binary function, Formula y) {
    return new Call(function, List.of(this, y));
  }

  default Formula plus(Formula y) {
    return apply(VectorOperators.ADD, y);
  }

  default Formula plus(double y) {
    return plus(number(y));
  }

  default Formula minus(Formula y) {
    return apply(VectorOperators.SUB, y);
  }

  default Formula minus(double y) {
    return minus(number(y));
  }

  default Formula times(Formula y) {
    return apply(VectorOperators.MUL, y);
  }

  default Formula times(double y) {
    return times(number(y));
  }

  default Formula over(Formula y) {
    return apply(VectorOperators.DIV, y);
  }

  default Formula squared() {
    return times(this);
  }

  default Formula negated() {
    return apply(VectorOperators.NEG);
  }

  default Formula abs() {
    return apply(VectorOperators.ABS);
  }

  default Formula sqrt() {
    return apply(VectorOperators.SQRT);
  }

  default Formula exp() {
    return apply(VectorOperators.EXP);
  }

  /** The larger one; NaN if either is. */
  default Formula max(Formula y) {
    return apply(VectorOperators.MAX, y);
  }

  default Formula max(double y) {
    return max(number(y));
  }

  /** The smaller one; NaN if either is. */
  default Formula min(Formula y) {
    return apply(VectorOperators.MIN, y);
  }

  default Formula min(double y) {
    return min(number(y));
  }

  default Condition is(Comparison comparison, Formula y) {
    return new Condition.Compare(comparison, this, y);
  }

  default Condition is(Comparison comparison, double y) {
    return is(comparison, number(y));
  }

  /**
   * The nearest integer, ties to even. Adding and taking away 2^23 (2^52) leaves no room for a
   * fraction; from there on numbers have none. The sign of a zero is kept by x * 0.
   */
  default Formula rint() {
    Formula limit = new ByPrecision(number(0x1p23), number(0x1p52));
    Formula size = abs().plus(limit).minus(limit);
    Formula signed = choose(is(VectorOperators.LT, 0), size.negated(), size);
    Formula kept = choose(size.is(VectorOperators.EQ, 0), times(0), signed);
    return choose(abs().is(VectorOperators.LT, limit), kept, this);
  }

  default Formula floor() {
    Formula r = rint();
    return choose(r.is(VectorOperators.GT, this), r.minus(1), r);
  }

  /** Zero keeps the sign of what was rounded to it. */
  default Formula ceil() {
    return negated().floor().negated();
  }

  /** How many times as long as an addition this takes, roughly; what decides to split a loop. */
  default int weight() {
    return switch (this) {
      case Call c ->
          cost(c.function) + c.arguments.stream().mapToInt(Formula::weight).max().orElse(0);
      case Choice c -> c.yes.weight() + c.no.weight();
      case ByPrecision p -> p.twice.weight();
      case Input _, Parameter _, Constant _ -> 0;
    };
  }

  private static int cost(VectorOperators.Operator f) {
    return LoopCompiler.CHEAP.contains(f) ? 1 : 8;
  }
}
