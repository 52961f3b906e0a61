package dev.millrace.interop.conformance;

import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.OpCase.Knowledge;
import dev.millrace.proto.GraphDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A graph with outputs to differentiate, and the values by which. Of a case every floating output
 * is multiplied by random weights first, so that a gradient that mixes up elements shows.
 *
 * @param subject what is differentiated, for a person
 * @param ops the ops whose gradients take part
 * @param ys the outputs whose sum is differentiated
 * @param points by what it is differentiated, and where
 * @param feeds what else is fed
 * @param prepare what is run with the feeds before the outputs are, such as an assignment
 * @param slack how much more loosely than usual the gradients are compared
 * @param isDouble whether all that is computed on is of double precision
 * @param isTensorFlowsSound whether TensorFlow's own gradient, where it has one, may be asked
 */
record GradientGraph(
    String subject,
    Set<String> ops,
    GraphDef graph,
    List<String> ys,
    List<Point> points,
    Map<String, Tensor> feeds,
    List<String> prepare,
    double slack,
    boolean isTensorFlowsSound,
    boolean isDouble) {
  /** Elements of one tensor that finite differences are taken by, spread over it. */
  private static final int SAMPLES = 24;

  /**
   * One thing to differentiate by.
   *
   * @param x the output the gradient is asked for by: a value, or a variable's handle
   * @param fed the placeholder that value is fed to
   * @param at the value
   */
  record Point(String x, String fed, Tensor at) {}

  /** The graph of a case with these outputs; null if a gradient can flow from none of them. */
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
    boolean isDouble = weighted.stream().allMatch(y -> graph.dtype(y) == DType.DOUBLE);
    List<Point> points = new ArrayList<>();
    for (int i : c.gradientInputs()) {
      String x = OpCase.input(i) + ":0";
      points.add(new Point(x, x, c.inputs().get(i)));
      isDouble &= c.inputs().get(i).dtype() == DType.DOUBLE;
    }
    return weighted.isEmpty() || points.isEmpty()
        ? null
        : new GradientGraph(
            c.toString(),
            Set.of(c.op()),
            graph.build(),
            weighted,
            points,
            feeds,
            List.of(),
            c.slack(),
            c.isTensorFlowsGradientSound(),
            isDouble);
  }

  /** The graph of a scenario, of all the ops in it: TensorFlow's C++ has no gradients of those. */
  static GradientGraph of(Scenario s, Scenario.Derivative d) {
    Set<String> ops = new TreeSet<>();
    s.graphDef().getNodeList().forEach(node -> ops.add(node.getOp()));
    return new GradientGraph(
        s.name(),
        ops,
        s.graphDef(),
        List.of(d.y()),
        List.of(new Point(d.x(), d.fed(), d.feeds().get(d.fed()))),
        d.feeds(),
        d.prepare(),
        s.slack(),
        false,
        d.feeds().get(d.fed()).dtype() == DType.DOUBLE);
  }

  /** The gradients an engine builds, by x. Those that it says are not there are missing. */
  Map<String, Tensor> symbolic(Engine engine) {
    try (Engine.Loaded loaded = engine.load(graph)) {
      Map<String, String> names =
          loaded.addGradients(ys, points.stream().map(Point::x).distinct().toList());
      if (names.isEmpty()) {
        return Map.of();
      }
      prepare(loaded, feeds);
      List<Tensor> values = loaded.run(feeds, List.copyOf(names.values()), List.of());
      Map<String, Tensor> gradients = new LinkedHashMap<>();
      int next = 0;
      for (String x : names.keySet()) {
        gradients.put(x, values.get(next++));
      }
      return gradients;
    }
  }

  /** Finite differences of what an engine computes, for some elements of a point by index. */
  Map<Long, Double> differences(Engine engine, Point point) {
    Map<Long, Double> slopes = new TreeMap<>();
    double step = isDouble ? 1e-5 : 1.0 / 64;
    long every = Math.max(1, point.at().elements() / SAMPLES);
    try (Engine.Loaded loaded = engine.load(graph)) {
      for (long k = 0; k < point.at().elements(); k += every) {
        double up = sum(loaded, point, k, step);
        double down = sum(loaded, point, k, -step);
        slopes.put(k, (up - down) / (2 * step));
      }
    }
    return slopes;
  }

  /** The sum of all outputs with element {@code k} of a point moved. */
  private double sum(Engine.Loaded loaded, Point point, long k, double by) {
    Map<String, Tensor> moved = new LinkedHashMap<>(feeds);
    Tensor x = point.at().copy();
    x.setDouble(k, x.doubleAt(k) + by);
    moved.put(point.fed(), x);
    prepare(loaded, moved);
    double sum = 0;
    for (Tensor y : loaded.run(moved, ys, List.of())) {
      for (double v : y.toDoubles()) {
        sum += v;
      }
    }
    return sum;
  }

  private void prepare(Engine.Loaded loaded, Map<String, Tensor> values) {
    if (!prepare.isEmpty()) {
      loaded.run(values, List.of(), prepare);
    }
  }
}
