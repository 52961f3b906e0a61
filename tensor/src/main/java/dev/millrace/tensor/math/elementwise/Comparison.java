package dev.millrace.tensor.math.elementwise;

import static dev.millrace.tensor.math.elementwise.Formula.X;
import static dev.millrace.tensor.math.elementwise.Formula.Y;

import dev.millrace.tensor.DType;

/** Relations between two elements. Every one with NaN is false, but for {@link #NOT_EQUAL}. */
public enum Comparison {
  EQUAL(Formula.Relation.EQ, Formula.Relation.EQ),
  NOT_EQUAL(Formula.Relation.NE, Formula.Relation.NE),
  LESS(Formula.Relation.LT, Formula.Relation.ULT),
  LESS_EQUAL(Formula.Relation.LE, Formula.Relation.ULE),
  GREATER(Formula.Relation.GT, Formula.Relation.UGT),
  GREATER_EQUAL(Formula.Relation.GE, Formula.Relation.UGE);

  private final Recipe recipe;

  /** For uint64, the one type whose values a signed comparison would get wrong. */
  private final Recipe unsigned;

  Comparison(Formula.Relation signed, Formula.Relation unsigned) {
    this.recipe = Recipe.map(2, X.is(signed, Y));
    this.unsigned = Recipe.map(2, X.is(unsigned, Y));
  }

  /** The definition for floating types. */
  public boolean of(double x, double y) {
    return switch (this) {
      case EQUAL -> x == y;
      case NOT_EQUAL -> x != y;
      case LESS -> x < y;
      case LESS_EQUAL -> x <= y;
      case GREATER -> x > y;
      case GREATER_EQUAL -> x >= y;
    };
  }

  /** The definition for integers and, as 0 or 1, bool. */
  public boolean of(long x, long y) {
    return of((double) Long.compare(x, y), 0.0);
  }

  Recipe recipe(DType type) {
    return type == DType.UINT64 ? unsigned : recipe;
  }
}
