package dev.millrace.tensor.math.elementwise;

import java.util.List;

/**
 * What an element of a result is computed from, written as one expression over the elements at the
 * same place of the operands. {@link LoopCompiler} makes the loop. Equal subexpressions are
 * computed once.
 */
public sealed interface Formula extends Expression {
  /** The first operand, where there is no better name. */
  @SuppressWarnings("ClassInitializationDeadlock") // Only this interface makes an Input.
  Formula X = new Input(0);

  /** The second operand. */
  @SuppressWarnings("ClassInitializationDeadlock") // Only this interface makes an Input.
  Formula Y = new Input(1);

  /** Functions of one or two elements; each has the name of the Vector API's operator. */
  enum Function {
    ADD,
    SUB,
    MUL,
    DIV,
    MIN,
    MAX,
    NEG,
    ABS,
    SQRT,
    AND,
    OR,
    XOR,
    UMIN,
    UMAX,
    EXP,
    EXPM1,
    LOG,
    LOG1P,
    SIN,
    COS,
    TAN,
    ASIN,
    ACOS,
    ATAN,
    SINH,
    COSH,
    TANH,
    POW,
    ATAN2;

    /** Whether it is an instruction or two. */
    boolean isCheap() {
      return compareTo(UMAX) <= 0;
    }
  }

  /** Relations of two elements, U for unsigned numbers; named as in the Vector API. */
  enum Relation {
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE,
    ULT,
    ULE,
    UGT,
    UGE
  }

  /** What a floating number can be; named as in the Vector API. */
  enum Kind {
    IS_NAN,
    IS_INFINITE,
    IS_FINITE
  }

  /** The element of an operand. */
  record Input(int operand) implements Formula {}

  /** A number that is given when the loop runs, the same for all elements. */
  record Parameter(int index) implements Formula {}

  /** A number known beforehand, rounded to the type of the loop. */
  record Constant(double value) implements Formula {}

  /** A function of the elements. */
  record Call(Function function, List<Formula> arguments) implements Formula {}

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

  default Formula apply(Function function) {
    return new Call(function, List.of(this));
  }

  default Formula apply(Function function, Formula y) {
    return new Call(function, List.of(this, y));
  }

  default Formula plus(Formula y) {
    return apply(Function.ADD, y);
  }

  default Formula plus(double y) {
    return plus(number(y));
  }

  default Formula minus(Formula y) {
    return apply(Function.SUB, y);
  }

  default Formula minus(double y) {
    return minus(number(y));
  }

  default Formula times(Formula y) {
    return apply(Function.MUL, y);
  }

  default Formula times(double y) {
    return times(number(y));
  }

  default Formula over(Formula y) {
    return apply(Function.DIV, y);
  }

  default Formula squared() {
    return times(this);
  }

  default Formula negated() {
    return apply(Function.NEG);
  }

  default Formula abs() {
    return apply(Function.ABS);
  }

  default Formula sqrt() {
    return apply(Function.SQRT);
  }

  default Formula exp() {
    return apply(Function.EXP);
  }

  /** The larger one; NaN if either is. */
  default Formula max(Formula y) {
    return apply(Function.MAX, y);
  }

  default Formula max(double y) {
    return max(number(y));
  }

  /** The smaller one; NaN if either is. */
  default Formula min(Formula y) {
    return apply(Function.MIN, y);
  }

  default Formula min(double y) {
    return min(number(y));
  }

  default Condition is(Relation comparison, Formula y) {
    return new Condition.Compare(comparison, this, y);
  }

  default Condition is(Relation comparison, double y) {
    return is(comparison, number(y));
  }

  /**
   * The nearest integer, ties to even. Adding and taking away 2^23 (2^52) leaves no room for a
   * fraction; from there on numbers have none. The sign of a zero is kept by x * 0.
   */
  default Formula rint() {
    Formula limit = new ByPrecision(number(0x1p23), number(0x1p52));
    Formula size = abs().plus(limit).minus(limit);
    Formula signed = choose(is(Relation.LT, 0), size.negated(), size);
    Formula kept = choose(size.is(Relation.EQ, 0), times(0), signed);
    return choose(abs().is(Relation.LT, limit), kept, this);
  }

  default Formula floor() {
    Formula r = rint();
    return choose(r.is(Relation.GT, this), r.minus(1), r);
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

  private static int cost(Function f) {
    return f.isCheap() ? 1 : 8;
  }
}
