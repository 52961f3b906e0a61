package dev.millrace.train.metric;

import dev.millrace.base.MillraceException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The exact area under the ROC curve and the average precision of scores with labels 0 and 1. Only
 * the order of the scores matters; equal scores count as one step of the curve.
 *
 * <p>Keeps the weight of positives and negatives for each different score: 24 bytes for each. Where
 * that is too much, {@link BucketedScoreCurve} needs a fixed amount.
 */
public final class ScoreCurve implements Metric {
  private double[] scores = new double[1024];
  private double[] positives = new double[1024];
  private double[] negatives = new double[1024];
  private int size;

  /** How many of the entries, from the first, are sorted with each score once. */
  private int sorted;

  @Override
  public void add(Examples examples) {
    for (int i = 0; i < examples.size(); i++) {
      double w = examples.weights()[i];
      boolean positive = examples.isPositive(i);
      put(examples.predictions()[i], positive ? w : 0, positive ? 0 : w);
    }
  }

  private void put(double score, double positive, double negative) {
    if (size == scores.length) {
      compact();
      if (size > scores.length / 2) {
        int length = Math.multiplyExact(scores.length, 2);
        scores = Arrays.copyOf(scores, length);
        positives = Arrays.copyOf(positives, length);
        negatives = Arrays.copyOf(negatives, length);
      }
    }
    scores[size] = score;
    positives[size] = positive;
    negatives[size++] = negative;
  }

  /** Sorts the entries, the highest score first, and joins those of equal scores. */
  private void compact() {
    if (sorted == size) {
      return;
    }
    int[] order = ScoreOrder.descending(scores, size);
    double[] s = new double[scores.length];
    double[] p = new double[scores.length];
    double[] n = new double[scores.length];
    int last = -1;
    for (int i : order) {
      if (last < 0 || scores[i] != s[last]) {
        s[++last] = scores[i];
      }
      p[last] += positives[i];
      n[last] += negatives[i];
    }
    scores = s;
    positives = p;
    negatives = n;
    size = last + 1;
    sorted = size;
  }

  @Override
  public double[] state() {
    compact();
    double[] state = new double[Math.multiplyExact(3, size)];
    for (int i = 0; i < size; i++) {
      state[3 * i] = scores[i];
      state[3 * i + 1] = positives[i];
      state[3 * i + 2] = negatives[i];
    }
    return state;
  }

  @Override
  public void merge(double[] state) {
    if (state.length % 3 != 0) {
      throw MillraceException.invalid(
          "The state given to ScoreCurve has %d numbers; a multiple of 3 is needed. Merge metrics"
              + " that were made in the same way.",
          state.length);
    }
    for (int i = 0; i < state.length; i += 3) {
      put(state[i], state[i + 1], state[i + 2]);
    }
  }

  /**
   * The probability that a positive example scores above a negative one, ties counted half; NaN
   * without positives or without negatives.
   */
  public double rocAuc() {
    compact();
    double above = 0;
    double found = 0;
    double passed = 0;
    for (int i = 0; i < size; i++) {
      above += negatives[i] * (found + positives[i] / 2);
      found += positives[i];
      passed += negatives[i];
    }
    return above / (found * passed);
  }

  /** The mean over the positives of the precision at their score; NaN without positives. */
  public double averagePrecision() {
    compact();
    double sum = 0;
    double found = 0;
    double all = 0;
    for (int i = 0; i < size; i++) {
      found += positives[i];
      all += positives[i] + negatives[i];
      sum += all == 0 ? 0 : positives[i] * (found / all);
    }
    return sum / found;
  }

  @Override
  public Map<String, Double> values() {
    Map<String, Double> values = new LinkedHashMap<>();
    values.put("roc_auc", rocAuc());
    values.put("average_precision", averagePrecision());
    return values;
  }
}
