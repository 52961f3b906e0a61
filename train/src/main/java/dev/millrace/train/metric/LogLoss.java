package dev.millrace.train.metric;

import java.util.Map;

/**
 * Mean cross entropy of probabilities with labels 0 and 1. A probability closer than {@link #EDGE}
 * to 0 or 1 counts as that close: one wrong certainty does not make the result infinite.
 */
public final class LogLoss extends SummedMetric {
  /** The spacing of doubles at 1, which scikit-learn uses too. */
  public static final double EDGE = 0x1p-52;

  public LogLoss() {
    super(2);
  }

  @Override
  public void add(Examples examples) {
    for (int i = 0; i < examples.size(); i++) {
      double p = Math.clamp(examples.probability(i), EDGE, 1 - EDGE);
      double w = examples.weights()[i];
      sums[0] -= w * (examples.isPositive(i) ? Math.log(p) : Math.log1p(-p));
      sums[1] += w;
    }
  }

  /** The mean; NaN without examples. */
  public double mean() {
    return sums[0] / sums[1];
  }

  @Override
  public Map<String, Double> values() {
    return Map.of("log_loss", mean());
  }
}
