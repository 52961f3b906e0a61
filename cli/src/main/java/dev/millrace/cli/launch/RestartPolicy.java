package dev.millrace.cli.launch;

import dev.millrace.base.MillraceException;
import dev.millrace.cli.text.ErrorPrinter;
import java.time.Duration;
import java.util.Set;

/**
 * When a task that has died starts again.
 *
 * @param limit how often a task, or the whole job, starts again
 * @param together whether all tasks start again when one dies, and the job is done when all are, as
 *     with the ranks of a ring
 * @param finalCodes exit codes that another start would not change
 */
public record RestartPolicy(int limit, boolean together, Set<Integer> finalCodes) {
  /** How often tasks start again if the user does not say. */
  public static final int DEFAULT_LIMIT = 3;

  /** The first failure ends the job. */
  static final RestartPolicy NEVER = new RestartPolicy(0, true, Set.of());

  private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
  private static final int LONGEST_DOUBLED = 5;

  /** Checks the limit. */
  public RestartPolicy {
    if (limit < 0) {
      throw MillraceException.invalid(
          "--max-restarts is %d; it must be at least 0, which ends the job with the first failure.",
          limit);
    }
  }

  /** Any failure but wrong use is tried again: the program may be of any kind. */
  public static RestartPolicy ofProgram(int limit, boolean together) {
    return new RestartPolicy(limit, together, Set.of(ErrorPrinter.WRONG_USE));
  }

  /** Only a task that died is tried again: one that says why it failed has told the whole job. */
  public static RestartPolicy ofMillrace(boolean together) {
    return new RestartPolicy(
        DEFAULT_LIMIT, together, Set.of(ErrorPrinter.WRONG_USE, ErrorPrinter.FAILURE));
  }

  /** Whether a task that ended with {@code code} starts again, after {@code before} restarts. */
  boolean allows(int code, int before) {
    return before < limit && !finalCodes.contains(code);
  }

  /** The pause before restart {@code n}, counted from 1: 1 s, 2 s, 4 s, ... at most 32 s. */
  static Duration pause(int n) {
    return FIRST_PAUSE.multipliedBy(1L << Math.min(n - 1, LONGEST_DOUBLED));
  }
}
