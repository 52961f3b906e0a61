package dev.millrace.tensor.math.elementwise;

import static dev.millrace.tensor.math.elementwise.Formula.X;
import static dev.millrace.tensor.math.elementwise.Formula.Y;

import dev.millrace.tensor.DType;
import jdk.incubator.vector.VectorOperators;

/** Relations between two elements. Every one with NaN is false, but for {@link #NOT_EQUAL}. */
public enum Comparison {
  EQUAL(VectorOperators.EQ, VectorOperators.EQ),
  NOT_EQUAL(VectorOperators.NE, VectorOperators.NE),
  LESS(VectorOperators.LT, VectorOperators.ULT),
  LESS_EQUAL(VectorOperators.LE, VectorOperators.ULE),
  GREATER(VectorOperators.GT, VectorOperators.UGT),
  GREATER_EQUAL(VectorOperators.GE, VectorOperators.UGE);

  private final Recipe recipe;

  /** For uint64, the one type whose values a signed comparison would get wrong. */
  private final Recipe unsigned;

  Comparison(VectorOperators.Comparison signed, VectorOperators.Comparison unsigned) {
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
