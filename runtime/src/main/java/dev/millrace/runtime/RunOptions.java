package dev.millrace.runtime;

import dev.millrace.runtime.exec.StepTrace;
import java.time.Duration;

/**
 * How one run is to be done. {@code timeout} null or zero means as long as it takes; {@code trace}
 * null means no record of what ran when.
 */
public record RunOptions(Duration timeout, StepTrace trace) {
  public static final RunOptions DEFAULT = new RunOptions(null, null);

  /** Ends the run with DEADLINE_EXCEEDED when it takes longer than this. */
  public RunOptions withTimeout(Duration t) {
    return new RunOptions(t, trace);
  }

  /** Records into {@code t} what ran when. */
  public RunOptions withTrace(StepTrace t) {
    return new RunOptions(timeout, t);
  }

  public boolean hasTimeout() {
    return timeout != null && !timeout.isZero();
  }
}
