package dev.millrace.tensor.math.elementwise;

import static dev.millrace.tensor.math.elementwise.Formula.X;

import java.util.function.DoublePredicate;

/** What a floating element can be asked. */
public enum NumberTest {
  IS_NAN(Double::isNaN, Formula.Kind.IS_NAN),
  IS_INF(Double::isInfinite, Formula.Kind.IS_INFINITE),
  IS_FINITE(Double::isFinite, Formula.Kind.IS_FINITE);

  private final DoublePredicate definition;
  final Recipe recipe;

  NumberTest(DoublePredicate definition, Formula.Kind test) {
    this.definition = definition;
    this.recipe = Recipe.map(1, new Condition.Is(test, X));
  }

  /** The definition. */
  public boolean of(double x) {
    return definition.test(x);
  }
}
