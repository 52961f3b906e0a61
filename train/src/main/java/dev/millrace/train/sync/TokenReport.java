package dev.millrace.train.sync;

import dev.millrace.tensor.Tensor;

/**
 * What a worker learns with a token, as it was right after it was taken.
 *
 * @param now the global step
 * @param generation the number of the generation, {@link Generation#NONE} while there is none
 * @param base the step at which that generation began
 * @param token the token; -1 if none was asked for
 */
record TokenReport(long now, long generation, long base, long token) {
  /** What is to be done with a token. */
  enum Verdict {
    /** It is this worker's: go on. */
    OWN,
    /** It is another's who was slow to take it: give it back and take another. */
    OTHERS,
    /** It is of a step that is over, and nobody's: take another. */
    DEAD,
    /** The chief has prepared the model anew, and what this worker has sent may be lost: join. */
    ANEW
  }

  static TokenReport of(Tensor t) {
    return new TokenReport(
        t.longAt(0), t.longAt(1), t.longAt(2), t.elements() > 3 ? t.longAt(3) : -1);
  }

  /**
   * What it means to a worker of generation {@code joined} whose last gradients were of {@code
   * step}. See docs/decisions/0014 for why each token finds its owner.
   */
  Verdict judge(Replicas replicas, long joined, long step) {
    if (generation != joined) {
      return Verdict.ANEW;
    }
    if (token < 0) {
      return Verdict.OWN;
    }
    if (token > now) {
      return Verdict.DEAD;
    }
    if (!replicas.hasSpares()) {
      boolean again = token == step && replicas.isOneEach();
      return token < now ? Verdict.DEAD : again ? Verdict.OTHERS : Verdict.OWN;
    }
    if (token <= base) {
      return now == base ? Verdict.OTHERS : Verdict.DEAD;
    }
    return token <= step && now == step ? Verdict.OTHERS : Verdict.OWN;
  }

  /** Whether it was given for gradients that were sent in the generation it was taken in. */
  boolean isAnswer() {
    return token > base;
  }
}
