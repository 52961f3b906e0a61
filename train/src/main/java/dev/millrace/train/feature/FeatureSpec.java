package dev.millrace.train.feature;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Concat;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.tensor.Shape;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.variable.VariableScope;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;

/**
 * The labels and features of a model. It drives what is read ({@link #columns}), what is made of it
 * in the graph ({@link #build}), and what a server is given ({@link #inputs}, {@link #parse}).
 *
 * <p>Threading: immutable.
 */
public final class FeatureSpec {
  private final List<Column> labels;
  private final List<Feature> features;
  private final Map<String, Column> inputs = new LinkedHashMap<>();

  private FeatureSpec(List<Column> labels, List<Feature> features) {
    this.labels = List.copyOf(labels);
    this.features = List.copyOf(features);
    for (Feature f : features) {
      for (Column c : f.columns()) {
        Column before = inputs.putIfAbsent(c.name(), c);
        if (before != null && !before.equals(c)) {
          throw MillraceException.invalid(
              "Column '%s' is described twice, as %s and as %s. Features that read the same column"
                  + " describe it in the same way.",
              c.name(), before, c);
        }
      }
    }
    for (Column label : labels) {
      if (inputs.containsKey(label.name())) {
        throw MillraceException.invalid(
            "Column '%s' is a label and a feature at once.", label.name());
      }
    }
  }

  /** These features, without a label. */
  public static FeatureSpec of(Feature... features) {
    return new FeatureSpec(List.of(), Arrays.asList(features));
  }

  /** The same with labels, which are read in front of the features and are not served. */
  public FeatureSpec withLabels(Column... columns) {
    return new FeatureSpec(List.of(columns), features);
  }

  /** The same with further features. */
  public FeatureSpec with(List<Feature> more) {
    List<Feature> all = new ArrayList<>(features);
    all.addAll(more);
    return new FeatureSpec(labels, all);
  }

  /** What is read, for files of any format: the labels first. */
  public List<Column> columns() {
    List<Column> all = new ArrayList<>(labels);
    all.addAll(inputs.values());
    return List.copyOf(all);
  }

  /** Adds all features to the graph, side by side in a matrix with a row for each example. */
  public Output build(VariableScope variables, Map<String, Output> columns) {
    for (String name : inputs.keySet()) {
      if (!columns.containsKey(name)) {
        throw MillraceException.invalid(
            "The features need column '%s'; given are %s.", name, columns.keySet());
      }
    }
    VariableScope own = variables.withSubScope("features");
    List<Output> parts = features.stream().map(f -> f.build(own, columns)).toList();
    return Concat.of(own.scope(), parts, 1);
  }

  /** The same, where {@code input} gives the columns by their numbers in {@link #columns}. */
  public Output build(VariableScope variables, IntFunction<Output> input) {
    Map<String, Output> columns = new LinkedHashMap<>();
    int i = labels.size();
    for (String name : inputs.keySet()) {
      columns.put(name, input.apply(i++));
    }
    return build(variables, columns);
  }

  /** Placeholders for the columns of the features, by name: the inputs of a served model. */
  public Map<String, Output> inputs(Scope scope) {
    Map<String, Output> placeholders = new LinkedHashMap<>();
    inputs.forEach(
        (name, c) -> {
          Shape shape = Shape.of(-1).concat(c.type().shape());
          String node = name.replaceAll("[^A-Za-z0-9_.]", "_");
          placeholders.put(name, Placeholder.of(scope.withName(node), c.dtype(), shape));
        });
    return placeholders;
  }

  /** The columns of the features, by name, parsed from a vector of serialised tf.Examples. */
  public Map<String, Output> parse(Scope scope, Output serialized) {
    return ExampleInputs.parse(scope, serialized, List.copyOf(inputs.values()));
  }
}
