package dev.millrace.dashboard.verdict;

import java.util.List;

/**
 * What slows a job, in one sentence with its evidence.
 *
 * @param state what is known
 * @param task the task to blame; empty if it is none
 * @param cause why; {@link Cause#NONE} if nothing is slow
 * @param since the second since 1970 from which on, as far as the figures tell; 0 if they do not
 * @param sentence for a person
 * @param evidence the figures that the sentence rests on, each as a sentence
 */
public record JobVerdict(
    State state, String task, Cause cause, long since, String sentence, List<String> evidence) {
  /** How much is known. */
  public enum State {
    /** Too few figures to say anything. */
    UNKNOWN,
    /** Nothing slows the job more than usual. */
    EVEN,
    /** Something does. */
    SLOW
  }

  /** Why a task is slow. */
  public enum Cause {
    NONE("nothing"),
    STOPPED("the process was stopped"),
    GONE("the process does not answer"),
    CPU("another process takes the processor"),
    STEAL("the hypervisor takes the processor"),
    GC("garbage collection"),
    DISK("a slow disk"),
    NETWORK("lost packets"),
    INPUT("the input"),
    BATCH("a larger batch"),
    SERVER("a slow parameter server"),
    COMPUTE("its computation"),
    UNCLEAR("not enough evidence for a cause");

    private final String words;

    Cause(String words) {
      this.words = words;
    }

    /** In words. */
    public String words() {
      return words;
    }
  }

  /** Says that there is too little to judge by. */
  static JobVerdict unknown(String why) {
    return new JobVerdict(
        State.UNKNOWN, "", Cause.NONE, 0, "Not enough evidence: " + why, List.of());
  }

  /** Whether two verdicts blame the same. */
  public boolean blamesAs(JobVerdict other) {
    return state == other.state && cause == other.cause && task.equals(other.task);
  }
}
