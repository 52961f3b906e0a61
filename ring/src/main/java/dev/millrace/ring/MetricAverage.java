package dev.millrace.ring;

import dev.millrace.collective.Ring;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

/** Averages of what every rank has measured on its own share of the data. */
public final class MetricAverage {
  private MetricAverage() {}

  /** The average of all ranks' values. All ranks must call it under the same name. */
  public static double of(Ring ring, String name, double value) {
    return of(ring, Map.of(name, value)).get(name);
  }

  /** The averages of all ranks' values, in the order given; all ranks must give the same names. */
  public static Map<String, Double> of(Ring ring, Map<String, Double> values) {
    Map<String, Double> sorted = new TreeMap<>(values);
    double[] own = sorted.values().stream().mapToDouble(Double::doubleValue).toArray();
    try (Tensor mine = Tensor.vector(own);
        Tensor all = ring.allReduce("metrics " + sorted.keySet(), mine, ReduceOp.AVERAGE)) {
      double[] averages = all.toDoubles();
      int i = 0;
      for (Map.Entry<String, Double> metric : sorted.entrySet()) {
        metric.setValue(averages[i++]);
      }
    }
    Map<String, Double> result = new LinkedHashMap<>();
    values.keySet().forEach(name -> result.put(name, sorted.get(name)));
    return result;
  }
}
