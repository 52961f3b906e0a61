package dev.millrace.train.metric;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Mean absolute error, mean squared error, its root, and R2, the share of the variance of the
 * labels that the predictions explain.
 *
 * <p>The variance is kept as mean and sum of squared distances from it, merged as Chan, Golub and
 * LeVeque do: large labels with a small variance lose no digits.
 */
public final class Regression implements Metric {
  private double weight;
  private double absolute;
  private double squared;
  private double mean;
  private double distances;

  @Override
  public void add(Examples examples) {
    for (int i = 0; i < examples.size(); i++) {
      double w = examples.weights()[i];
      double y = examples.labels()[i];
      double error = examples.predictions()[i] - y;
      merge(new double[] {w, w * Math.abs(error), w * error * error, y, 0});
    }
  }

  @Override
  public double[] state() {
    return new double[] {weight, absolute, squared, mean, distances};
  }

  @Override
  public void merge(double[] state) {
    SummedMetric.checkLength(this, state, 5);
    double w = state[0];
    if (w == 0) {
      return;
    }
    double apart = state[3] - mean;
    distances += state[4] + apart * apart * weight * (w / (weight + w));
    weight += w;
    mean += apart * (w / weight);
    absolute += state[1];
    squared += state[2];
  }

  /** The mean absolute error; NaN without examples. */
  public double meanAbsoluteError() {
    return absolute / weight;
  }

  /** The mean squared error; NaN without examples. */
  public double meanSquaredError() {
    return squared / weight;
  }

  /** One minus squared error over variance; NaN if all labels are equal. */
  public double r2() {
    return distances == 0 ? Double.NaN : 1 - squared / distances;
  }

  @Override
  public Map<String, Double> values() {
    Map<String, Double> values = new LinkedHashMap<>();
    values.put("mean_absolute_error", meanAbsoluteError());
    values.put("mean_squared_error", meanSquaredError());
    values.put("root_mean_squared_error", Math.sqrt(meanSquaredError()));
    values.put("r2", r2());
    return values;
  }
}
