package dev.millrace.job;

import dev.millrace.base.MillraceException;
import java.util.Arrays;
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

  /** The mode of this name, in letters of any case. */
  public static Mode of(String name) {
    try {
      return valueOf(name.strip().toUpperCase(Locale.ROOT));
    } catch (IllegalArgumentException e) {
      throw MillraceException.invalid(
          "--mode is '%s'; it must be one of %s.", name, Arrays.toString(values()));
    }
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
