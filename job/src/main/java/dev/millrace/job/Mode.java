package dev.millrace.job;

import java.util.Locale;

/** How the tasks of a job train together. */
public enum Mode {
  /** One process, no cluster. */
  LOCAL,

  /** Every worker applies its gradients on the parameter servers when it has them. */
  ASYNC,

  /** The gradients of all workers, or of all but the slowest, are averaged into one step. */
  SYNC,

  /** Asynchronous, but no worker gets more than a few steps ahead of the slowest. */
  BOUNDED,

  /** No parameter servers: gradients are averaged around a ring. */
  RING;

  /** Whether there are parameter servers. */
  public boolean hasServers() {
    return this == ASYNC || this == SYNC || this == BOUNDED;
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
