package dev.millrace.tensor.math.elementwise;

/** A truth value for each element, part of a {@link Formula} or a result of its own. */
sealed interface Condition extends Expression {
  /** Whether two numbers stand in a relation. */
  record Compare(Formula.Relation relation, Formula x, Formula y) implements Condition {}

  /** Whether a number is of a kind, such as NaN. */
  record Is(Formula.Kind kind, Formula x) implements Condition {}

  /** The element of a bool operand. */
  record Flag(int operand) implements Condition {}

  /** Whether both hold. */
  record Both(Condition a, Condition b) implements Condition {}

  default Condition and(Condition other) {
    return new Both(this, other);
  }
}
