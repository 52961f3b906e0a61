package dev.millrace.interop.serving;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Concat;
import dev.millrace.ops.array.ExpandDims;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.nn.Activations;
import dev.millrace.ops.nn.SoftmaxOps;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.serving.model.ModelSignature;
import dev.millrace.serving.model.TensorSpec;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.checkpoint.SavedModel;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.layers.Embedding;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The SavedModel that is asked: 13 numbers, 26 categories of 10,000 ids with an embedding of 8
 * each, and a hidden layer of 64, with weights that nobody has trained.
 */
final class ClickExport {
  static final String MODEL = "clicks";

  private static final int NUMBERS = 13;
  private static final int CATEGORIES = 26;
  private static final int IDS = 10_000;

  private ClickExport() {}

  /** Writes it to {@code folder}. */
  static void write(Path folder) {
    Scope scope = Scope.of(StandardOps.newGraph());
    scope.graph().setSeed(1);
    VariableScope variables = VariableScope.of(scope);
    Map<String, Output> inputs = new LinkedHashMap<>();
    List<Output> parts = new ArrayList<>();
    for (int i = 0; i < NUMBERS; i++) {
      Output in = Placeholder.of(scope.withName("n" + i), DType.FLOAT, Shape.of(-1));
      inputs.put("n" + i, in);
      parts.add(ExpandDims.of(scope, in, 1));
    }
    for (int i = 0; i < CATEGORIES; i++) {
      Output in = Placeholder.of(scope.withName("c" + i), DType.INT64, Shape.of(-1));
      inputs.put("c" + i, in);
      parts.add(
          Embedding.lookup(
              scope,
              variables.variable(
                  "table" + i, DType.FLOAT, Shape.of(IDS, 8), Initializers.glorotUniform()),
              in));
    }
    Output hidden =
        Dense.of(variables, "hidden", Concat.of(scope, parts, 1), 64, Activations::relu);
    Output click = SoftmaxOps.softmax(scope, Dense.of(variables, "click", hidden, 2));
    try (Session session = new LocalSession(scope.graph())) {
      session.run(Variables.initializer(scope));
      SavedModel.export(
          session, scope.graph(), folder, new SavedModel.Signature(inputs, Map.of("click", click)));
    }
  }

  private static boolean isNumber(String input) {
    return input.startsWith("n");
  }

  private static int place(String input) {
    return Integer.parseInt(input.substring(1));
  }

  /** One row, in the order of the signature's inputs. */
  static Tensor[] row(ModelSignature signature) {
    return signature.inputs().stream()
        .map(TensorSpec::name)
        .map(ClickExport::value)
        .toArray(Tensor[]::new);
  }

  private static Tensor value(String input) {
    return isNumber(input)
        ? Tensor.vector(number(place(input)))
        : Tensor.vector((long) id(place(input)));
  }

  private static float number(int i) {
    return i / 16f;
  }

  private static int id(int i) {
    return 37 * i * i % IDS;
  }

  /** The same row as values of Java. */
  static Map<String, Object> values() {
    Map<String, Object> row = new LinkedHashMap<>();
    for (int i = 0; i < NUMBERS; i++) {
      row.put("n" + i, number(i));
    }
    for (int i = 0; i < CATEGORIES; i++) {
      row.put("c" + i, id(i));
    }
    return row;
  }

  /** A request for the same row. */
  static String body() {
    return values().entrySet().stream()
        .map(e -> "\"" + e.getKey() + "\": [" + e.getValue() + "]")
        .collect(Collectors.joining(", ", "{\"inputs\": {", "}}"));
  }
}
