package dev.millrace.runtime;

import dev.millrace.runtime.trace.StepTrace;
import java.time.Duration;

/**
 * How one run is to be done.
 *
 * @param timeout how long the run may take; null for the session's own limit, zero for no limit
 * @param trace records what ran when; null for no record
 * @param collectiveKey names the steps that share collective ops, the same in all tasks that run
 *     them; 0 to have it follow from the graph
 * @param stepId the id of the run, from a {@link dev.millrace.graph.resource.StepIdentity}; 0 to
 *     have one drawn. A master in another process draws one in any case
 */
public record RunOptions(Duration timeout, StepTrace trace, long collectiveKey, long stepId) {
  public static final RunOptions DEFAULT = new RunOptions(null, null, 0, 0);

  /**
   * Ends the run with DEADLINE_EXCEEDED when it takes longer than this; zero for no limit, null for
   * the session's own.
   */
  public RunOptions withTimeout(Duration t) {
    return new RunOptions(t, trace, collectiveKey, stepId);
  }

  /** Records into {@code t} what ran when. */
  public RunOptions withTrace(StepTrace t) {
    return new RunOptions(timeout, t, collectiveKey, stepId);
  }

  /** The same for steps with the collectives of this key. */
  public RunOptions withCollectiveKey(long key) {
    return new RunOptions(timeout, trace, key, stepId);
  }

  /** The same for an attempt at a step that may be repeated. */
  public RunOptions withStepId(long id) {
    return new RunOptions(timeout, trace, collectiveKey, id);
  }

  /**
   * Lets the run take any time. For steps that wait by their nature, such as those of a queue
   * runner.
   */
  public RunOptions withoutTimeout() {
    return withTimeout(Duration.ZERO);
  }
}
