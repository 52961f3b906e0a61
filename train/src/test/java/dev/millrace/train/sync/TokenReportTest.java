package dev.millrace.train.sync;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.train.sync.TokenReport.Verdict;
import org.junit.jupiter.api.Test;

class TokenReportTest {
  private static final long JOINED = 77;
  private static final long BASE = 10;
  private static final Replicas ONE_EACH = new Replicas(3, 3);
  private static final Replicas SPARE = new Replicas(2, 3);
  private static final Replicas SEVERAL = new Replicas(4, 3);

  /** The verdict of a worker that has sent gradients of {@code step}. */
  private static Verdict judge(Replicas replicas, long token, long now, long step) {
    return new TokenReport(now, JOINED, BASE, token).judge(replicas, JOINED, step);
  }

  @Test
  void tokenOfTheCurrentStepIsOwn() {
    assertEquals(Verdict.OWN, judge(ONE_EACH, 13, 13, 12));
    assertEquals(Verdict.OWN, judge(SPARE, 13, 13, 12));
    assertEquals(Verdict.OWN, judge(SEVERAL, 13, 13, 12));
  }

  @Test
  void tokenOfAStepThatThisWorkerIsInIsAnothers() {
    assertEquals(Verdict.OTHERS, judge(ONE_EACH, 12, 12, 12));
    assertEquals(Verdict.OTHERS, judge(SPARE, 12, 12, 12));
    assertEquals(Verdict.OWN, judge(SEVERAL, 12, 12, 12));
  }

  @Test
  void tokenOfAnotherStepIsDead() {
    assertEquals(Verdict.DEAD, judge(ONE_EACH, 11, 12, 11));
    assertEquals(Verdict.DEAD, judge(ONE_EACH, 13, 12, 12));
    assertEquals(Verdict.DEAD, judge(SEVERAL, 11, 12, 11));
    assertEquals(Verdict.DEAD, judge(SPARE, 13, 12, 12));
  }

  @Test
  void withSparesAnOldTokenIsStillAnAnswerButThoseOfTheBeginningAreNot() {
    assertEquals(Verdict.OWN, judge(SPARE, 12, 14, 11));
    assertEquals(Verdict.OWN, judge(SPARE, -1, 14, 11));
    assertEquals(Verdict.OTHERS, judge(SPARE, BASE, BASE, BASE));
    assertEquals(Verdict.DEAD, judge(SPARE, BASE, 11, BASE));
  }

  @Test
  void anotherGenerationComesBeforeAllElse() {
    for (Replicas r : new Replicas[] {ONE_EACH, SPARE, SEVERAL}) {
      assertEquals(Verdict.ANEW, new TokenReport(13, 78, BASE, 13).judge(r, JOINED, 12));
      assertEquals(
          Verdict.ANEW,
          new TokenReport(13, Generation.NONE, Long.MAX_VALUE, 13).judge(r, JOINED, 12));
    }
  }
}
