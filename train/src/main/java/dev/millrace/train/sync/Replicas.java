package dev.millrace.train.sync;

import dev.millrace.base.MillraceException;

/**
 * How many gradients make a step, of how many workers.
 *
 * @param aggregated how many are waited for
 * @param total how many workers there are
 */
record Replicas(int aggregated, int total) {
  Replicas {
    if (aggregated < 1 || total < 1) {
      throw MillraceException.invalid(
          "%d gradients of %d workers cannot be averaged; need at least 1 of each.",
          aggregated, total);
    }
  }

  /** Whether there are more workers than are waited for. */
  boolean hasSpares() {
    return aggregated < total;
  }

  /** Whether each worker has one gradient in each step: no spares, no repetitions. */
  boolean isOneEach() {
    return aggregated == total;
  }

  /** Whether workers have several gradients in each step. */
  boolean areTooFew() {
    return aggregated > total;
  }

  @Override
  public String toString() {
    return aggregated + " of " + total + " workers";
  }
}
