package dev.millrace.job;

import java.util.Map;

/** Called with the metrics of every evaluation, on the task that evaluates. */
@FunctionalInterface
public interface EvaluationListener {
  /** The model had these {@code metrics}, by name, at global step {@code step}. */
  void evaluated(long step, Map<String, Double> metrics);
}
