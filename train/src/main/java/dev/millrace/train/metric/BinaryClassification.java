package dev.millrace.train.metric;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Accuracy, precision, recall and F1 of yes-or-no answers: a prediction above the threshold is a
 * yes. Precision without a yes, recall without a positive example and their F1 are 0, as in
 * TensorFlow and scikit-learn.
 */
public final class BinaryClassification extends SummedMetric {
  private static final int TRUE_POSITIVE = 0;
  private static final int FALSE_POSITIVE = 1;
  private static final int FALSE_NEGATIVE = 2;
  private static final int TRUE_NEGATIVE = 3;

  private final double threshold;

  /** With the threshold of probabilities, 0.5. */
  public BinaryClassification() {
    this(.5);
  }

  /** With another threshold, such as 0 for logits. */
  public BinaryClassification(double threshold) {
    super(4);
    this.threshold = threshold;
  }

  @Override
  public void add(Examples examples) {
    for (int i = 0; i < examples.size(); i++) {
      boolean yes = examples.predictions()[i] > threshold;
      int cell =
          examples.isPositive(i)
              ? yes ? TRUE_POSITIVE : FALSE_NEGATIVE
              : yes ? FALSE_POSITIVE : TRUE_NEGATIVE;
      sums[cell] += examples.weights()[i];
    }
  }

  /** The share of examples that were answered right. */
  public double accuracy() {
    double right = sums[TRUE_POSITIVE] + sums[TRUE_NEGATIVE];
    return right / (right + sums[FALSE_POSITIVE] + sums[FALSE_NEGATIVE]);
  }

  /** The share of positive examples among those answered with yes. */
  public double precision() {
    return share(sums[TRUE_POSITIVE], sums[TRUE_POSITIVE] + sums[FALSE_POSITIVE]);
  }

  /** The share of positive examples that were answered with yes. */
  public double recall() {
    return share(sums[TRUE_POSITIVE], sums[TRUE_POSITIVE] + sums[FALSE_NEGATIVE]);
  }

  /** The harmonic mean of precision and recall. */
  public double f1() {
    return f1(sums[TRUE_POSITIVE], sums[FALSE_POSITIVE], sums[FALSE_NEGATIVE]);
  }

  static double f1(double truePositive, double falsePositive, double falseNegative) {
    return share(2 * truePositive, 2 * truePositive + falsePositive + falseNegative);
  }

  static double share(double part, double whole) {
    return whole == 0 ? 0 : part / whole;
  }

  @Override
  public Map<String, Double> values() {
    Map<String, Double> values = new LinkedHashMap<>();
    values.put("accuracy", accuracy());
    values.put("precision", precision());
    values.put("recall", recall());
    values.put("f1", f1());
    return values;
  }
}
