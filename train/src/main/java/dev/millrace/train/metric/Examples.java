package dev.millrace.train.metric;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Tensor;
import java.util.Arrays;

/**
 * A batch of predictions with what would have been right. All arrays have an element per example.
 *
 * @param predictions probabilities, scores, values or class indices, by metric
 * @param labels the answers; for ranking, the relevances
 * @param weights how much each example counts
 * @param queries the query that each item belongs to, for ranking; all items of a query must be in
 *     one batch
 */
public record Examples(double[] predictions, double[] labels, double[] weights, long[] queries) {
  /** Checks that the lengths agree and that every number is one. */
  public Examples {
    int n = predictions.length;
    if (labels.length != n || weights.length != n || queries.length != n) {
      throw MillraceException.invalid(
          "Examples of a metric: %d predictions, %d labels, %d weights and %d queries were given;"
              + " there must be equally many.",
          n, labels.length, weights.length, queries.length);
    }
    for (int i = 0; i < n; i++) {
      if (Double.isNaN(predictions[i]) || Double.isNaN(labels[i])) {
        throw MillraceException.invalid(
            "Examples of a metric: number %d has prediction %s and label %s. A metric of NaN says"
                + " nothing; find the step that made it.",
            i, predictions[i], labels[i]);
      }
      if (!(weights[i] >= 0) || Double.isInfinite(weights[i])) {
        throw MillraceException.invalid(
            "Examples of a metric: number %d has weight %s; a weight is finite and at least 0.",
            i, weights[i]);
      }
    }
  }

  /** Examples that count the same. */
  public static Examples of(double[] predictions, double[] labels) {
    double[] ones = new double[predictions.length];
    Arrays.fill(ones, 1);
    return weighted(predictions, labels, ones);
  }

  /** Examples with weights. */
  public static Examples weighted(double[] predictions, double[] labels, double[] weights) {
    return new Examples(predictions, labels, weights, new long[predictions.length]);
  }

  /** The elements of two tensors, as a step fetched them. */
  public static Examples of(Tensor predictions, Tensor labels) {
    return of(predictions.toDoubles(), labels.toDoubles());
  }

  /** The class with the largest logit of each row of {@code [examples, classes]}. */
  public static Examples classes(Tensor logits, Tensor labels) {
    if (logits.shape().rank() != 2) {
      throw MillraceException.invalid(
          "The logits have shape %s; [examples, classes] is needed.", logits.shape());
    }
    double[] values = logits.toDoubles();
    int n = Math.toIntExact(logits.shape().dim(0));
    int classes = Math.toIntExact(logits.shape().dim(1));
    double[] best = new double[n];
    for (int i = 0; i < n; i++) {
      int at = 0;
      for (int c = 1; c < classes; c++) {
        at = values[i * classes + c] > values[i * classes + at] ? c : at;
      }
      best[i] = at;
    }
    return of(best, labels.toDoubles());
  }

  /** The items of queries, {@code [queries, items]}; a relevance below 0 marks padding. */
  public static Examples ranked(Tensor scores, Tensor relevances) {
    if (scores.shape().rank() != 2 || !scores.shape().equals(relevances.shape())) {
      throw MillraceException.invalid(
          "The scores have shape %s and the relevances %s; both must be [queries, items].",
          scores.shape(), relevances.shape());
    }
    double[] labels = relevances.toDoubles();
    int items = Math.toIntExact(scores.shape().dim(1));
    long[] queries = new long[labels.length];
    Arrays.setAll(queries, i -> i / items);
    double[] ones = new double[labels.length];
    Arrays.fill(ones, 1);
    int[] real = new int[labels.length];
    int n = 0;
    for (int i = 0; i < labels.length; i++) {
      if (labels[i] >= 0) {
        real[n++] = i;
      }
    }
    return new Examples(scores.toDoubles(), labels, ones, queries).select(Arrays.copyOf(real, n));
  }

  /** The examples with these numbers. */
  public Examples select(int... numbers) {
    double[] p = new double[numbers.length];
    double[] l = new double[numbers.length];
    double[] w = new double[numbers.length];
    long[] q = new long[numbers.length];
    for (int i = 0; i < numbers.length; i++) {
      p[i] = predictions[numbers[i]];
      l[i] = labels[numbers[i]];
      w[i] = weights[numbers[i]];
      q[i] = queries[numbers[i]];
    }
    return new Examples(p, l, w, q);
  }

  /** How many examples there are. */
  public int size() {
    return predictions.length;
  }

  /** Whether example {@code i} is a positive one; fails unless its label is 0 or 1. */
  boolean isPositive(int i) {
    if (labels[i] != 0 && labels[i] != 1) {
      throw MillraceException.invalid(
          "Example %d has label %s; this metric needs labels 0 and 1.", i, labels[i]);
    }
    return labels[i] == 1;
  }

  /** The prediction of example {@code i}; fails unless it is a probability. */
  double probability(int i) {
    if (predictions[i] < 0 || predictions[i] > 1) {
      throw MillraceException.invalid(
          "Example %d has prediction %s; this metric needs probabilities from 0 to 1. Apply a"
              + " sigmoid to logits.",
          i, predictions[i]);
    }
    return predictions[i];
  }
}
