package dev.millrace.cli.launch;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cli.text.ErrorPrinter;
import java.nio.file.Path;

/**
 * How a job ended.
 *
 * @param task the task that decided it; null if all went well
 * @param code its exit code
 * @param words what it said last, or empty
 */
public record JobOutcome(JobTask task, int code, String words) {
  private static final int SIGNALLED = 128;

  /** All tasks are done. */
  static final JobOutcome DONE = new JobOutcome(null, 0, "");

  /** Whether the job is done. */
  public boolean isDone() {
    return task == null;
  }

  /** Whether the job was told to stop: by SIGTERM or Ctrl-C, to the launcher or to a task. */
  public boolean isStopped() {
    return isStop(code);
  }

  /** Whether a task with this exit code was told to stop. */
  static boolean isStop(int code) {
    return code == SIGNALLED + 2 || code == SIGNALLED + 15;
  }

  /** Whether {@code java} says by this line that it found no program to start. */
  static boolean isOfJavaLauncher(String line) {
    return line.startsWith("Error: Could not find or load main class")
        || line.startsWith("Error: Unable to access jarfile");
  }

  /** Whether another start would end in the same way. */
  boolean isWrongUse() {
    return code == ErrorPrinter.WRONG_USE || isOfJavaLauncher(words);
  }

  /** Whether a process with this exit code was ended by a signal it did not handle. */
  static boolean isKilled(int code) {
    return code > SIGNALLED && !isStop(code);
  }

  /** What happened: {@code worker/1 was killed by signal 9}, {@code ended with code 1: why}. */
  public String happened() {
    String how =
        isKilled(code)
            ? task.name() + " was killed by signal " + (code - SIGNALLED)
            : task.name()
                + (task.host().equals(HostAddresses.LOCAL) ? "" : " on " + task.host())
                + " ended with code "
                + code;
    return words.isEmpty() || isKilled(code) ? how : how + ": " + words;
  }

  /** Throws what happened if the job is not done, with the exit code that follows from it. */
  public void check(Path logs) {
    if (isDone()) {
      return;
    }
    String what = happened();
    if (isStopped()) {
      what = words.isEmpty() ? "The job was told to stop." : task.name() + ": " + words;
    }
    throw new MillraceException(
        isStopped() ? Code.CANCELLED : isWrongUse() ? Code.INVALID_ARGUMENT : Code.ABORTED,
        String.format(
            "%s Its log is %s.",
            what.endsWith(".") ? what : what + ".", logs.resolve(task.logName())));
  }
}
