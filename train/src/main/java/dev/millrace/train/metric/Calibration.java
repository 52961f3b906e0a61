package dev.millrace.train.metric;

import dev.millrace.base.MillraceException;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Whether probabilities are right on average: examples are put into bins of equal width by their
 * predicted probability, and each bin compares the mean prediction with the share of positives.
 */
public final class Calibration extends SummedMetric {
  private final int bins;

  /** With this many bins, 10 or 15 as a rule. */
  public Calibration(int bins) {
    super(3 * atLeastOne(bins));
    this.bins = bins;
  }

  private static int atLeastOne(int bins) {
    if (bins < 1) {
      throw MillraceException.invalid("A calibration needs at least 1 bin, not %d.", bins);
    }
    return bins;
  }

  @Override
  public void add(Examples examples) {
    for (int i = 0; i < examples.size(); i++) {
      double p = examples.probability(i);
      double w = examples.weights()[i];
      int bin = 3 * Math.min((int) (p * bins), bins - 1);
      sums[bin] += w;
      sums[bin + 1] += w * p;
      sums[bin + 2] += examples.isPositive(i) ? w : 0;
    }
  }

  /** The weight of the examples in a bin. */
  public double weight(int bin) {
    return sums[3 * bin];
  }

  /** The mean prediction in a bin; NaN for an empty one. */
  public double meanPrediction(int bin) {
    return sums[3 * bin + 1] / sums[3 * bin];
  }

  /** The share of positives in a bin; NaN for an empty one. */
  public double positives(int bin) {
    return sums[3 * bin + 2] / sums[3 * bin];
  }

  /** The mean prediction over the share of positives of all examples: 1 is right on average. */
  public double ratio() {
    return total(1) / total(2);
  }

  /** The mean distance of prediction and share of positives, bins weighted by their examples. */
  public double expectedError() {
    double error = 0;
    for (int b = 0; b < bins; b++) {
      error += Math.abs(sums[3 * b + 1] - sums[3 * b + 2]);
    }
    return error / total(0);
  }

  private double total(int of) {
    double total = 0;
    for (int b = 0; b < bins; b++) {
      total += sums[3 * b + of];
    }
    return total;
  }

  @Override
  public Map<String, Double> values() {
    Map<String, Double> values = new LinkedHashMap<>();
    values.put("calibration_ratio", ratio());
    values.put("expected_calibration_error", expectedError());
    return values;
  }
}
