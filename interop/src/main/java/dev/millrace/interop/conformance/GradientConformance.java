package dev.millrace.interop.conformance;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Compares the gradients an engine builds with those TensorFlow builds, where it has them in C++,
 * and with finite differences of what TensorFlow computes.
 */
final class GradientConformance {
  /** What a gradient can be held against. */
  enum Measure {
    /** The gradient TensorFlow builds. */
    TENSORFLOW,
    /** Finite differences of TensorFlow's values. */
    DIFFERENCES
  }

  /** How much of the largest slope finite differences of each precision may be off. */
  private static final double DOUBLE_DIFFERENCE = 1e-6;

  private static final double FLOAT_DIFFERENCE = 2e-2;

  private final Engine tensorFlow;
  private final Engine engine;
  private final Map<Measure, Set<String>> checked = new EnumMap<>(Measure.class);

  GradientConformance(Engine tensorFlow, Engine engine) {
    this.tensorFlow = tensorFlow;
    this.engine = engine;
    for (Measure measure : Measure.values()) {
      checked.put(measure, new TreeSet<>());
    }
  }

  /** The ops whose gradients were held against that. */
  Set<String> checked(Measure measure) {
    return checked.get(measure);
  }

  List<Finding> check(GradientGraph graph) {
    List<Finding> findings = new ArrayList<>();
    Map<String, Tensor> actual;
    try {
      actual = graph.symbolic(engine);
    } catch (MillraceException e) {
      findings.add(finding(graph, "fails: " + e.getMessage()));
      return findings;
    }
    compareWithTensorFlows(graph, actual, findings);
    for (GradientGraph.Point point : graph.points()) {
      if (point.at().dtype() == DType.DOUBLE || !hasDoubles(graph)) {
        compareWithDifferences(graph, point, actual.get(point.x()), findings);
      }
    }
    return findings;
  }

  /** Whether the ops compute on doubles, of which differences are worth more. */
  private static boolean hasDoubles(GradientGraph graph) {
    return graph.ops().stream().allMatch(op -> Kernels.computesOn(op, DType.DOUBLE));
  }

  private void compareWithTensorFlows(
      GradientGraph graph, Map<String, Tensor> actual, List<Finding> findings) {
    if (!graph.isTensorFlowsSound()) {
      return;
    }
    Map<String, Tensor> expected;
    try {
      expected = graph.symbolic(tensorFlow);
    } catch (MillraceException noGradient) {
      return;
    }
    for (GradientGraph.Point point : graph.points()) {
      Tensor e = expected.get(point.x());
      // Some of TensorFlow's C++ gradients forget that an input was broadcast.
      if (e == null || !e.shape().equals(point.at().shape())) {
        continue;
      }
      Closeness.difference(e, orZero(actual.get(point.x()), e), 4 * graph.slack())
          .ifPresent(d -> findings.add(finding(graph, "by " + point.x() + ": " + d)));
      checked.get(Measure.TENSORFLOW).addAll(graph.ops());
    }
  }

  private void compareWithDifferences(
      GradientGraph graph, GradientGraph.Point point, Tensor gradient, List<Finding> findings) {
    Tensor a = orZero(gradient, point.at());
    if (!a.shape().equals(point.at().shape())) {
      String message = "by %s has shape %s, should be %s";
      findings.add(finding(graph, message.formatted(point.x(), a.shape(), point.at().shape())));
      return;
    }
    Map<Long, Double> slopes = graph.differences(tensorFlow, point);
    double largest = slopes.values().stream().mapToDouble(Math::abs).max().orElse(0);
    double off = graph.isDouble() ? DOUBLE_DIFFERENCE : FLOAT_DIFFERENCE;
    for (var slope : slopes.entrySet()) {
      double found = a.doubleAt(slope.getKey());
      if (!(Math.abs(found - slope.getValue()) <= off * Math.max(1, largest))) {
        String message = "by element %d of %s: %s, the finite difference is %s";
        findings.add(
            finding(graph, message.formatted(slope.getKey(), point.x(), found, slope.getValue())));
        return;
      }
    }
    if (!slopes.isEmpty()) {
      checked.get(Measure.DIFFERENCES).addAll(graph.ops());
    }
  }

  /** No gradient is as good as one that is zero everywhere. */
  private static Tensor orZero(Tensor gradient, Tensor like) {
    return gradient != null ? gradient : Values.filled(like.dtype(), 0, like.shape().dims());
  }

  private static Finding finding(GradientGraph graph, String message) {
    return new Finding(Finding.Kind.GRADIENT, graph.subject(), message);
  }
}
