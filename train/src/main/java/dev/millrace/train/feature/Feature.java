package dev.millrace.train.feature;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Cast;
import dev.millrace.ops.math.Unary;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.variable.VariableScope;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A feature of a model: the columns that are read for it, and what is made of them in the graph, a
 * matrix of float with a row for each example. Categories become features by {@link
 * Categories#oneHot} and {@link Categories#embedding}.
 *
 * <p>Threading: immutable.
 */
public final class Feature {
  /** Adds the ops that make the matrix, from the columns by name. */
  @FunctionalInterface
  interface Transform {
    Output apply(VariableScope variables, Map<String, Output> columns);
  }

  private final String name;
  private final List<Column> columns;
  private final Transform transform;

  Feature(String name, List<Column> columns, Transform transform) {
    this.name = name;
    this.columns = List.copyOf(columns);
    this.transform = transform;
  }

  /** A number. */
  public static Feature number(String name) {
    return numbers(Column.of(name, DType.FLOAT));
  }

  /** The numbers of a column: one, a vector, or a list. */
  public static Feature numbers(Column column) {
    if (column.dtype() == null || column.dtype() == DType.STRING) {
      throw MillraceException.invalid(
          "Column '%s' has no numbers. Make categories of it, such as with Categories.hashed.",
          column.name());
    }
    return new Feature(
        column.name(),
        List.of(column),
        (v, all) -> {
          Output x = Cast.of(v.scope(), all.get(column.name()), DType.FLOAT);
          return Reshape.of(v.scope(), x, Shape.of(-1, column.width()));
        });
  }

  /** The same with {@code log(1 + x)} of each number, of 0 for those below 0: evens out counts. */
  public Feature logarithm() {
    return then(
        (s, x) -> {
          Output positive = Arithmetic.maximum(s, x, Const.of(s, 0f));
          return Unary.of(s, Unary.LOG1P, positive);
        });
  }

  /** The same with each number less its mean, divided by its standard deviation. */
  public Feature normalized(ColumnStatistics statistics) {
    float[] means = statistics.means();
    float[] deviations = statistics.deviations();
    return then(
        (s, x) -> {
          if (x.shape().dim(1) != means.length) {
            throw MillraceException.invalid(
                "Feature '%s' has %d numbers; the statistics given are of %d.",
                name, x.shape().dim(1), means.length);
          }
          Output centred = Arithmetic.sub(s, x, Const.of(s, Tensor.vector(means)));
          return Arithmetic.realDiv(s, centred, Const.of(s, Tensor.vector(deviations)));
        });
  }

  private interface Step {
    Output apply(Scope scope, Output x);
  }

  private Feature then(Step step) {
    return new Feature(name, columns, (v, all) -> step.apply(v.scope(), transform.apply(v, all)));
  }

  /** What messages, scopes and variables call it. */
  public String name() {
    return name;
  }

  /** The columns that are read for it. */
  public List<Column> columns() {
    return columns;
  }

  /** Adds it to the graph. */
  Output build(VariableScope variables, Map<String, Output> all) {
    return transform.apply(variables.withSubScope(name.replaceAll("[^A-Za-z0-9_.]", "_")), all);
  }

  static List<Column> joined(List<Column> columns, Column another) {
    List<Column> more = new ArrayList<>(columns);
    more.add(another);
    return more;
  }
}
