package dev.millrace.train.metric;

import dev.millrace.base.MillraceException;

/** A metric whose state is sums over the examples, which merge by addition. */
abstract class SummedMetric implements Metric {
  final double[] sums;

  SummedMetric(int length) {
    sums = new double[length];
  }

  @Override
  public final double[] state() {
    return sums.clone();
  }

  @Override
  public final void merge(double[] state) {
    checkLength(this, state, sums.length);
    for (int i = 0; i < sums.length; i++) {
      sums[i] += state[i];
    }
  }

  static void checkLength(Metric metric, double[] state, int length) {
    if (state.length != length) {
      throw MillraceException.invalid(
          "The state given to %s has %d numbers; %d are needed. Merge metrics that were made in the"
              + " same way.",
          metric.getClass().getSimpleName(), state.length, length);
    }
  }
}
