package dev.millrace.runtime.exec;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.time.Duration;
import java.util.List;

/** Why a step ends that no kernel has failed: the same words in every kind of session. */
public final class StepFailures {
  private StepFailures() {}

  /** A run was asked for after the session was closed. */
  public static MillraceException sessionClosed() {
    return new MillraceException(Code.CANCELLED, "Session has been closed.");
  }

  /** The session was closed while the step ran. TensorFlow's own message: its users match it. */
  public static MillraceException cancelledByClose() {
    return new MillraceException(
        Code.CANCELLED, "Step was cancelled by an explicit call to `Session::Close()`.");
  }

  /** The thread that asked for the step, or runs it, was interrupted. */
  public static MillraceException interrupted(Throwable e) {
    return new MillraceException(
        Code.CANCELLED, "The step was cancelled: the thread that ran it was interrupted.", e);
  }

  /** A value that was asked for lies on a branch that was not taken. */
  public static MillraceException noValue(String what) {
    return MillraceException.invalid(
        "%s has no value: it lies on a branch that was not taken.", what);
  }

  /** What to call a fetched value in messages. */
  public static String fetched(String output) {
    return "The fetched tensor '" + output + "'";
  }

  /** The step did not end in time. */
  public static MillraceException deadlineExceeded(long stepId, Duration limit) {
    return new MillraceException(
        Code.DEADLINE_EXCEEDED,
        "Step " + stepId + " took longer than its timeout of " + limit.toMillis() + " ms.");
  }

  /**
   * The same failure with what the step waited for, such as {@code 'dequeue' on /job:ps/task:0}.
   */
  public static MillraceException waitingFor(MillraceException failure, List<String> awaited) {
    return awaited.isEmpty()
        ? failure
        : failure.withMessage(
            failure.getMessage() + " It was waiting for " + String.join(", ", awaited) + ".");
  }
}
