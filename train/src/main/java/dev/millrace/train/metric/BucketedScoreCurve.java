package dev.millrace.train.metric;

import dev.millrace.base.MillraceException;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The areas under the ROC and the precision-recall curve of probabilities, approximated at evenly
 * spaced thresholds as Keras' AUC metric does. Its size does not grow with the examples.
 *
 * <p>The state counts positives and negatives by the highest threshold below their probability.
 */
public final class BucketedScoreCurve extends SummedMetric {
  private final int thresholds;

  /** With the 200 thresholds that TensorFlow uses. */
  public BucketedScoreCurve() {
    this(200);
  }

  /** With this many thresholds, at least 2. */
  public BucketedScoreCurve(int thresholds) {
    super(2 * atLeastTwo(thresholds));
    this.thresholds = thresholds;
  }

  private static int atLeastTwo(int thresholds) {
    if (thresholds < 2) {
      throw MillraceException.invalid("A curve needs at least 2 thresholds, not %d.", thresholds);
    }
    return thresholds;
  }

  @Override
  public void add(Examples examples) {
    for (int i = 0; i < examples.size(); i++) {
      // In float, as TensorFlow computes it: a probability on a threshold falls to the same side.
      float scaled = (float) examples.probability(i) * (thresholds - 1);
      int bucket = Math.max(0, (int) Math.ceil(scaled) - 1);
      sums[2 * bucket + (examples.isPositive(i) ? 0 : 1)] += examples.weights()[i];
    }
  }

  /** The weight of the positives (0) or negatives (1) above each threshold. */
  private double[] above(int side) {
    double[] above = new double[thresholds];
    double sum = 0;
    for (int t = thresholds - 1; t >= 0; t--) {
      sum += sums[2 * t + side];
      above[t] = sum;
    }
    return above;
  }

  /** The area under the ROC curve by the trapezoidal rule; NaN without one kind of example. */
  public double rocAuc() {
    double[] tp = above(0);
    double[] fp = above(1);
    double area = 0;
    for (int t = 0; t + 1 < thresholds; t++) {
      area += (fp[t] - fp[t + 1]) * (tp[t] + tp[t + 1]) / 2;
    }
    return area / (tp[0] * fp[0]);
  }

  /**
   * The area under the precision-recall curve, interpolated as Davis and Goadrich do: between two
   * thresholds the true positives grow linearly with all positives. NaN without positives.
   */
  public double prAuc() {
    double[] tp = above(0);
    double[] fp = above(1);
    double area = 0;
    for (int t = 0; t + 1 < thresholds; t++) {
      double more = tp[t] - tp[t + 1];
      double here = tp[t] + fp[t];
      double next = tp[t + 1] + fp[t + 1];
      if (here == next) {
        continue;
      }
      double slope = more / (here - next);
      double intercept = tp[t + 1] - slope * next;
      area += slope * (more + (next > 0 ? intercept * Math.log(here / next) : 0));
    }
    return area / tp[0];
  }

  @Override
  public Map<String, Double> values() {
    Map<String, Double> values = new LinkedHashMap<>();
    values.put("roc_auc", rocAuc());
    values.put("pr_auc", prAuc());
    return values;
  }
}
