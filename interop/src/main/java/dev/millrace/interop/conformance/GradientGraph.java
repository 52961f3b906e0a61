package dev.millrace.interop.conformance;

import dev.millrace.base.MillraceException;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.OpCase.Knowledge;
import dev.millrace.proto.GraphDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A case's op with every floating output multiplied by random weights, so that a gradient that
 * mixes up elements shows. The gradients are TensorFlow's own where it has them in C++, else finite
 * differences of what TensorFlow computes.
 */
final class GradientGraph {
  private static final double STEP = 1e-5;

  /** How much looser than exact gradients those by finite differences are compared. */
  private static final double DIFFERENCE_SLACK = 2e7;

  private final OpCase c;
  private final GraphDef graph;
  private final Map<String, Tensor> feeds;
  private final List<String> weighted;
  private final List<String> xs = new ArrayList<>();
  private boolean byDifferences;

  private GradientGraph(
      OpCase c, GraphDef graph, Map<String, Tensor> feeds, List<String> weighted) {
    this.c = c;
    this.graph = graph;
    this.feeds = feeds;
    this.weighted = weighted;
    c.gradientInputs().forEach(i -> xs.add(OpCase.input(i) + ":0"));
  }

  /** The graph for a case with these outputs; null if a gradient can flow from none of them. */
  static GradientGraph of(OpCase c, List<Tensor> outputs) {
    GraphWriter graph = c.writer(Knowledge.SHAPES);
    Map<String, Tensor> feeds = new LinkedHashMap<>(c.feeds(Knowledge.SHAPES));
    List<String> weighted = new ArrayList<>();
    Values values = new Values(outputs.size());
    for (int i = 0; i < outputs.size(); i++) {
      Tensor output = outputs.get(i);
      boolean exact = output.dtype() == DType.FLOAT || output.dtype() == DType.DOUBLE;
      if (exact && c.isChecked(i)) {
        String weights = graph.placeholder("weights" + i, output.dtype(), output.shape());
        feeds.put(weights + ":0", values.of(Values.Domain.ANY, output.dtype(), output.shape()));
        weighted.add(
            graph.add("weighted" + i, "Mul", Map.of(), OpCase.NODE + ":" + i, weights) + ":0");
      }
    }
    return weighted.isEmpty() ? null : new GradientGraph(c, graph.build(), feeds, weighted);
  }

  /** How much more loosely than values the gradients are to be compared. */
  double slack() {
    return byDifferences ? DIFFERENCE_SLACK : 4;
  }

  /** Whether TensorFlow has no gradient of its own in C++, known after {@link #expected}. */
  boolean isByDifferences() {
    return byDifferences;
  }

  /** The gradients of an engine, by input. Those that it says are not there are missing. */
  Map<Integer, Tensor> run(Engine engine) {
    try (Engine.Loaded loaded = engine.load(graph)) {
      Map<String, String> names = loaded.addGradients(weighted, xs);
      if (names.isEmpty()) {
        return Map.of();
      }
      List<Tensor> values = loaded.run(feeds, List.copyOf(names.values()), List.of());
      Map<Integer, Tensor> gradients = new LinkedHashMap<>();
      int next = 0;
      for (String x : names.keySet()) {
        gradients.put(c.gradientInputs().get(xs.indexOf(x)), values.get(next++));
      }
      return gradients;
    }
  }

  /** What the gradients must be; empty where that cannot be found out. */
  Map<Integer, Tensor> expected(Engine tensorFlow) {
    // TensorFlow's C++ gradients expect axes of 32 bits; wider ones end the process.
    byDifferences = c.hasWideFixedInput();
    if (!byDifferences) {
      try {
        Map<Integer, Tensor> gradients = run(tensorFlow);
        // Some of TensorFlow's C++ gradients forget that an input was broadcast.
        byDifferences =
            gradients.entrySet().stream()
                .anyMatch(g -> !g.getValue().shape().equals(c.inputs().get(g.getKey()).shape()));
        if (!byDifferences) {
          return gradients;
        }
      } catch (MillraceException noGradient) {
        byDifferences = true;
      }
    }
    return differences(tensorFlow);
  }

  private Map<Integer, Tensor> differences(Engine tensorFlow) {
    Map<Integer, Tensor> gradients = new LinkedHashMap<>();
    try (Engine.Loaded loaded = tensorFlow.load(graph)) {
      for (int i : c.gradientInputs()) {
        Tensor x = c.inputs().get(i);
        if (x.dtype() != DType.DOUBLE) {
          continue;
        }
        Tensor gradient = Tensor.allocate(DType.DOUBLE, x.shape());
        for (long k = 0; k < x.elements(); k++) {
          double up = sum(loaded, i, k, STEP);
          double down = sum(loaded, i, k, -STEP);
          gradient.setDouble(k, (up - down) / (2 * STEP));
        }
        gradients.put(i, gradient);
      }
    }
    return gradients;
  }

  /** The sum of all weighted outputs with element {@code k} of an input moved. */
  private double sum(Engine.Loaded loaded, int input, long k, double by) {
    Map<String, Tensor> moved = new LinkedHashMap<>(feeds);
    Tensor x = c.inputs().get(input).copyCounted().guarded();
    x.setDouble(k, x.doubleAt(k) + by);
    moved.put(OpCase.input(input) + ":0", x);
    double sum = 0;
    for (Tensor y : loaded.run(moved, weighted, List.of())) {
      for (double v : y.toDoubles()) {
        sum += v;
      }
    }
    return sum;
  }
}
