package dev.millrace.graph.resource;

import java.util.random.RandomGenerator;

/**
 * Which step of which training session a run is an attempt at. It is part of the id of the run, and
 * so reaches every task. A store that keeps state recognizes a repeated step by it, and makes no
 * change twice.
 *
 * @param session a random number of {@link #SESSION_BITS} bits
 * @param number counts the steps of the session from a random number on, modulo 2^{@link
 *     #NUMBER_BITS}
 */
public record StepIdentity(int session, int number) {
  static final int SESSION_BITS = 28;
  static final int NUMBER_BITS = 28;
  private static final int ATTEMPT_BITS = 6;

  /** Set in ids that have an identity; the ids that a master draws are below. */
  private static final long TAG = 1L << (SESSION_BITS + NUMBER_BITS + ATTEMPT_BITS);

  /** How many steps late a run may be and still be recognized as late. */
  private static final int WINDOW = 1 << 10;

  private static final int NUMBERS = (1 << NUMBER_BITS) - 1;

  /** The first step of a new session. */
  public static StepIdentity first(RandomGenerator random) {
    return new StepIdentity(random.nextInt(1 << SESSION_BITS), random.nextInt(1 << NUMBER_BITS));
  }

  /** The step after this one. */
  public StepIdentity next() {
    return new StepIdentity(session, (number + 1) & NUMBERS);
  }

  /** The id of an attempt, counted from 0, at this step. */
  public long stepId(int attempt) {
    long step = (long) session << NUMBER_BITS | number;
    return TAG | step << ATTEMPT_BITS | attempt & ((1 << ATTEMPT_BITS) - 1);
  }

  /** The identity in the id of a run, or null if it has none. */
  public static StepIdentity of(long stepId) {
    if ((stepId & TAG) == 0 || stepId < 0) {
      return null;
    }
    long step = (stepId ^ TAG) >>> ATTEMPT_BITS;
    return new StepIdentity((int) (step >>> NUMBER_BITS), (int) step & NUMBERS);
  }

  /** Whether this is step {@code last} of its session, or one shortly before it. */
  public boolean isUpTo(int last) {
    return ((last - number) & NUMBERS) < WINDOW;
  }
}
