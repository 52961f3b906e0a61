package dev.millrace.collective.member;

import java.time.Duration;

/**
 * How long the members of a job wait for each other.
 *
 * @param join until all ranks have joined, and for every step of finding each other
 * @param liveness how long a rank may be silent before it counts as dead; less than 5 seconds so
 *     that a dead rank is named within that
 * @param close how long leaving may take at most
 */
public record Timeouts(Duration join, Duration liveness, Duration close) {
  /** A minute to join, 4 s of silence, 5 s to leave. */
  public static final Timeouts DEFAULT =
      new Timeouts(Duration.ofSeconds(60), Duration.ofSeconds(4), Duration.ofSeconds(5));
}
