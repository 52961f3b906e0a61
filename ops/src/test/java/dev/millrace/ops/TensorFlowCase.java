package dev.millrace.ops;

import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

/**
 * What TensorFlow made of one node: its outputs, or an error; and the gradients of its inputs for
 * given gradients of its outputs, where it has any. Read from lines of text:
 *
 * <pre>
 * case Op 2,-1               how many tensors each argument is a list of; -1 for a single one
 * attr name kind value
 * in float [2,3] 1 2 3 4 5 6
 * out ...  dy ...  dx ...    nodx: none for this input;  nograd: the op has no gradient
 * error
 * </pre>
 */
final class TensorFlowCase {
  final String op;
  final List<Tensor> inputs = new ArrayList<>();
  final List<Tensor> outputs = new ArrayList<>();
  final List<Tensor> outputGradients = new ArrayList<>();

  /** One for each floating input; null where there is none. */
  final List<Tensor> inputGradients = new ArrayList<>();

  boolean isError;
  boolean hasNoGradient;

  private final int line;
  private final int[] arguments;
  private final List<String[]> attrs = new ArrayList<>();

  private TensorFlowCase(int line, String[] words) {
    this.line = line;
    this.op = words[1];
    this.arguments =
        words.length < 3
            ? new int[0]
            : Arrays.stream(words[2].split(",")).mapToInt(Integer::parseInt).toArray();
  }

  /** The cases of all files, in their order. */
  static List<TensorFlowCase> all() throws IOException {
    List<TensorFlowCase> cases = new ArrayList<>();
    for (String file :
        List.of(
            "tensorflow-cases.txt", "tensorflow-sparse-cases.txt", "tensorflow-more-cases.txt")) {
      try (BufferedReader in =
          new BufferedReader(
              new InputStreamReader(
                  TensorFlowCase.class.getResourceAsStream(file), StandardCharsets.UTF_8))) {
        int n = 0;
        for (String text = in.readLine(); text != null; text = in.readLine()) {
          n++;
          String[] words = text.split(" ");
          switch (words[0]) {
            case "#" -> {}
            case "case" -> cases.add(new TensorFlowCase(n, words));
            default -> cases.getLast().read(words);
          }
        }
      }
    }
    return cases;
  }

  private void read(String[] words) {
    switch (words[0]) {
      case "attr" -> attrs.add(words);
      case "in" -> inputs.add(tensor(words));
      case "out" -> outputs.add(tensor(words));
      case "dy" -> outputGradients.add(tensor(words));
      case "dx" -> inputGradients.add(tensor(words));
      case "nodx" -> inputGradients.add(null);
      case "nograd" -> hasNoGradient = true;
      case "error" -> isError = true;
      default -> throw new IllegalStateException("line " + line + ": " + words[0]);
    }
  }

  /** Adds the node to a graph. */
  Node add(Scope scope, List<Output> in) {
    NodeBuilder b = scope.node(op);
    int k = 0;
    for (int n : arguments) {
      if (n < 0) {
        b.input(in.get(k++));
      } else {
        b.inputs(in.subList(k, k + n));
        k += n;
      }
    }
    attrs.forEach(a -> b.attr(a[1], attr(a[2], a.length > 3 ? a[3] : "")));
    return b.add();
  }

  private static Object attr(String kind, String v) {
    return switch (kind) {
      case "int" -> Long.parseLong(v);
      case "bool" -> v.equals("True");
      case "float" -> Float.parseFloat(v);
      case "list(float)" -> Arrays.stream(v.split(",")).map(Float::valueOf).toList();
      case "string" -> v;
      case "type" -> type(v);
      case "list(int)" -> longs(v);
      case "shape" -> Shape.of(longs(v.replace("None", "-1")));
      default -> throw new IllegalStateException(kind);
    };
  }

  private static long[] longs(String v) {
    return v.isEmpty()
        ? new long[0]
        : Arrays.stream(v.split(",")).mapToLong(Long::parseLong).toArray();
  }

  private static DType type(String name) {
    String label =
        switch (name) {
          case "float16" -> "half";
          case "float32" -> "float";
          case "float64" -> "double";
          default -> name;
        };
    return Arrays.stream(DType.values())
        .filter(t -> t.label().equals(label))
        .findFirst()
        .orElseThrow();
  }

  private static Tensor tensor(String[] words) {
    DType type = type(words[1]);
    Shape shape = Shape.of(longs(words[2].substring(1, words[2].length() - 1)));
    Tensor t = Tensor.allocate(type, shape);
    for (int i = 0; i < shape.elements(); i++) {
      String v = words[3 + i];
      if (type == DType.STRING) {
        t.objects()[i] = HexFormat.of().parseHex(v.equals("-") ? "" : v);
      } else if (type.isFloating()) {
        t.setDouble(i, Double.parseDouble(v.replace("nan", "NaN").replace("inf", "Infinity")));
      } else {
        t.setLong(i, type == DType.UINT64 ? Long.parseUnsignedLong(v) : Long.parseLong(v));
      }
    }
    return t;
  }

  @Override
  public String toString() {
    return op + " of line " + line;
  }
}
