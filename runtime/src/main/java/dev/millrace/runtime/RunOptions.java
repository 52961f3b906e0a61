package dev.millrace.runtime;

import dev.millrace.runtime.exec.StepTrace;
import java.time.Duration;

/**
 * How one run is to be done. {@code timeout} null or zero means as long as it takes; {@code trace}
 * null means no record of what ran when.
 *
 * @param collectiveKey names the steps that share collective ops, the same in all tasks that run
 *     them; 0 to have it follow from the graph
 */
public record RunOptions(Duration timeout, StepTrace trace, long collectiveKey) {
  public static final RunOptions DEFAULT = new RunOptions(null, null, 0);

  /** Ends the run with DEADLINE_EXCEEDED when it takes longer than this. */
  public RunOptions withTimeout(Duration t) {
    return new RunOptions(t, trace, collectiveKey);
  }

  /** Records into {@code t} what ran when. */
  public RunOptions withTrace(StepTrace t) {
    return new RunOptions(timeout, t, collectiveKey);
  }

  /** The same for steps with the collectives of this key. */
  public RunOptions withCollectiveKey(long key) {
    return new RunOptions(timeout, trace, key);
  }

  /** Whether the step may take only so long. */
  public boolean hasTimeout() {
    return timeout != null && !timeout.isZero();
  }
}
