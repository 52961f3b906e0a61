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
  ALLREDUCE;

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
