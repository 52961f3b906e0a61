package dev.millrace.job;

import dev.millrace.graph.Output;
import java.util.function.ToDoubleFunction;

/**
 * A figure of a model that can be computed over more data than fits in a batch: statistics of each
 * batch are added up, and the figure is made of the sums.
 *
 * @param statistics a vector, or a scalar, computed from a batch
 * @param mean whether {@code statistics} is a mean over the batch, which is weighted by its size
 * @param result the figure, made of the sums; of a mean, of the weighted mean
 */
public record ModelMetric(
    String name, Output statistics, boolean mean, ToDoubleFunction<double[]> result) {
  /** A mean over the examples, such as an accuracy: {@code value} is the mean over a batch. */
  public static ModelMetric mean(String name, Output value) {
    return new ModelMetric(name, value, true, sums -> sums[0]);
  }

  /** A figure made of {@code sums}, which are added up over all batches, such as an AUC. */
  public static ModelMetric ofSums(String name, Output sums, ToDoubleFunction<double[]> result) {
    return new ModelMetric(name, sums, false, result);
  }
}
