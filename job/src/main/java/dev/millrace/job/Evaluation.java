package dev.millrace.job;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The figures of a model over a whole dataset, batch by batch. */
final class Evaluation {
  private final ModelGraph graph;
  private final Dataset data;

  /** Over {@code data}, {@code batchSize} elements at a time. */
  Evaluation(ModelGraph graph, Dataset data, int batchSize) {
    this.graph = graph;
    this.data = data.batch(batchSize, false);
  }

  /** The metrics by name, with the variables that {@code session} has now. */
  Map<String, Double> run(Session session, RunOptions options) {
    List<ModelMetric> metrics = graph.model().metrics();
    List<Output> fetches = metrics.stream().map(ModelMetric::statistics).toList();
    double[][] sums = new double[metrics.size()][];
    long examples = 0;
    try (Elements batches = data.elements()) {
      for (Tensor[] batch = batches.next(); batch != null; batch = batches.next()) {
        long n = batch[0].shape().dim(0);
        List<Tensor> values = null;
        try {
          values = session.run(feeds(batch), fetches, List.of(), options);
          for (int i = 0; i < sums.length; i++) {
            sums[i] = added(sums[i], values.get(i), metrics.get(i).mean() ? (double) n : 1);
          }
        } finally {
          Elements.release(batch);
          if (values != null) {
            values.forEach(Tensor::close);
          }
        }
        examples += n;
      }
    }
    if (examples == 0) {
      throw MillraceException.invalid("The evaluation data is empty.");
    }
    Map<String, Double> results = new LinkedHashMap<>();
    for (int i = 0; i < sums.length; i++) {
      ModelMetric m = metrics.get(i);
      if (m.mean()) {
        for (int j = 0; j < sums[i].length; j++) {
          sums[i][j] /= examples;
        }
      }
      results.put(m.name(), m.result().applyAsDouble(sums[i]));
    }
    return results;
  }

  private Map<Output, Tensor> feeds(Tensor[] batch) {
    if (batch.length != graph.inputs().size()) {
      throw MillraceException.invalid(
          "An element of the evaluation data has %d tensors; one of the training data has %d.",
          batch.length, graph.inputs().size());
    }
    Map<Output, Tensor> feeds = new HashMap<>();
    for (int i = 0; i < batch.length; i++) {
      feeds.put(graph.inputs().get(i), batch[i]);
    }
    return feeds;
  }

  private static double[] added(double[] sums, Tensor values, double weight) {
    double[] all = sums == null ? new double[Math.toIntExact(values.elements())] : sums;
    for (int i = 0; i < all.length; i++) {
      all[i] += weight * values.doubleAt(i);
    }
    return all;
  }
}
