package dev.millrace.interop.bench;

import java.util.Locale;

/** Questions that belong together. */
public enum Suite {
  /** Training and empty steps in one process. */
  LOCAL,
  /** What a step over the network costs beside the computing. */
  CLUSTER,
  /** Training by several processes: with parameter servers, and without. */
  TRAINING,
  /** All-reduce between processes of this machine. */
  ALLREDUCE,
  /** Rows of training data read per second of CPU time. */
  INPUT,
  /** Predictions per second, in a program and over the network. */
  SERVING,
  /** Whole jobs as users start them: their first seconds, and what they cost. */
  JOBS;

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
