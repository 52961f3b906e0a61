package dev.millrace.cluster.peer;

import java.time.Duration;

/**
 * How a client wants one step to run.
 *
 * @param timeout how long the step may take; null for any time
 * @param defaultTimeout whether that is the client's default, which a shorter one of the server's
 *     replaces
 * @param collectiveKey names the steps that share collective ops; 0 to have it follow from the
 *     graph
 * @param stepId the id of the step; 0 to have one drawn
 * @param report told what ran when, if it asks for that
 */
public record StepParameters(
    Duration timeout, boolean defaultTimeout, long collectiveKey, long stepId, StepReport report) {
  /** How long the step may take under a server with its own limit; null for any time. */
  public Duration limitUnder(Duration serverLimit) {
    boolean serverDecides =
        serverLimit != null
            && (timeout == null || defaultTimeout && timeout.compareTo(serverLimit) > 0);
    return serverDecides ? serverLimit : timeout;
  }
}
