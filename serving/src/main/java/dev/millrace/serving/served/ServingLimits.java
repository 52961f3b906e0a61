package dev.millrace.serving.served;

import java.time.Duration;

/**
 * What callers of a model server may use.
 *
 * @param bodyBytes the length of a request at most
 * @param pendingBytes the length of all requests that arrive or are served, together
 * @param jsonDepth how deep lists and objects of a request may be nested
 * @param requests how many requests are served at once; more are refused with UNAVAILABLE
 * @param connections how many connections each port has at most
 * @param arrival how long a request may take to arrive, and an answer to be taken; one that moves
 *     at 16 KiB per second may take longer
 * @param idle how long a connection without a request is kept
 */
public record ServingLimits(
    int bodyBytes,
    long pendingBytes,
    int jsonDepth,
    int requests,
    int connections,
    Duration arrival,
    Duration idle) {
  public static final ServingLimits DEFAULT =
      new ServingLimits(
          64 << 20,
          Runtime.getRuntime().maxMemory() / 4,
          64,
          256,
          4096,
          Duration.ofSeconds(15),
          Duration.ofSeconds(120));
}
