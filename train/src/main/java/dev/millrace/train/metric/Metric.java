package dev.millrace.train.metric;

import java.util.Map;

/**
 * Numbers that say how good predictions are, over all examples added so far. Its state is a row of
 * numbers, as a DOUBLE tensor can carry them to another worker.
 *
 * <p>Threading: one thread at a time.
 */
public interface Metric {
  /** Adds a batch of examples. */
  void add(Examples examples);

  /** All that {@link #merge} of a metric made in the same way needs to know of this one. */
  double[] state();

  /** Adds the examples that another metric, made in the same way, has seen. */
  void merge(double[] state);

  /** The results by name; NaN where the examples do not define one. */
  Map<String, Double> values();
}
