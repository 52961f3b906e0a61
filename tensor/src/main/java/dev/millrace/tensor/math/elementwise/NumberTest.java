package dev.millrace.tensor.math.elementwise;

import static dev.millrace.tensor.math.elementwise.Formula.X;

import java.util.function.DoublePredicate;
import jdk.incubator.vector.VectorOperators;

/** What a floating element can be asked. */
public enum NumberTest {
  IS_NAN(Double::isNaN, VectorOperators.IS_NAN),
  IS_INF(Double::isInfinite, VectorOperators.IS_INFINITE),
  IS_FINITE(Double::isFinite, VectorOperators.IS_FINITE);

  private final DoublePredicate definition;
  final Recipe recipe;

  NumberTest(DoublePredicate definition, VectorOperators.Test test) {
    this.definition = definition;
    this.recipe = Recipe.map(1, new Condition.Is(test, X));
  }

  /** The definition. */
  public boolean of(double x) {
    return definition.test(x);
  }
}
