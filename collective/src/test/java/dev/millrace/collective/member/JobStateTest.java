package dev.millrace.collective.member;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What a job decides as time passes, which is moved by hand. */
class JobStateTest {
  private static final Timeouts TERMS =
      new Timeouts(Duration.ofSeconds(10), Duration.ofSeconds(4), Duration.ofSeconds(3));

  private final MillraceException[] failures = new MillraceException[4];
  private final JobState job = new JobState(4, TERMS, "127.0.0.1:7", Service::none, this::note, 0);

  private void note(int rank, byte type, Packet contents) {
    if (type == Message.FAILED) {
      failures[rank] = JobState.unpack(Packet.of(contents.toBytes()));
    }
  }

  private void join(int... ranks) {
    for (int r : ranks) {
      job.join(r, "127.0.0.1:" + (100 + r), 0);
    }
  }

  private void hear(double seconds, int... ranks) {
    for (int r : ranks) {
      job.receive(r, Message.HEARTBEAT, Packet.of(new byte[0]), nanos(seconds));
    }
  }

  private void tick(double seconds) {
    job.tick(nanos(seconds), false);
  }

  private static long nanos(double seconds) {
    return (long) (seconds * TimeUnit.SECONDS.toNanos(1));
  }

  private void assertAllFail(Code code, String text) {
    for (MillraceException e : failures) {
      assertEquals(code, e.code(), e.getMessage());
      assertTrue(e.getMessage().contains(text), e.getMessage());
    }
  }

  @Test
  void aSilentRankIsDeadAfterTheLivenessTimeout() {
    join(0, 1, 2, 3);
    hear(3, 0, 2, 3);
    tick(4);
    assertNull(failures[0]);
    tick(4.1);
    assertAllFail(Code.UNAVAILABLE, "Rank 1 at 127.0.0.1:101 has not been heard of for 4.1 s");
  }

  @Test
  void silenceMeansNothingToACoordinatorThatWasHeldUp() {
    join(0, 1, 2, 3);
    job.tick(nanos(9), true);
    tick(12);
    assertNull(failures[0]);
  }

  @Test
  void aBrokenStreamWaitsForABetterExplanation() {
    join(0, 1, 2, 3);
    lost(0, 2);
    tick(.4);
    assertNull(failures[0]);
    failures[2] = new MillraceException(Code.UNAVAILABLE, "Rank 2 died: is not told so itself");
    job.lose(2, "closed without a leave message");
    assertAllFail(Code.UNAVAILABLE, "Rank 2 died");
    // What happens afterwards is an echo.
    tick(.6);
    assertAllFail(Code.UNAVAILABLE, "Rank 2 died");
  }

  @Test
  void aBrokenStreamBetweenLivingRanksNamesBoth() {
    join(0, 1, 2, 3);
    lost(0, 2);
    tick(.6);
    assertAllFail(Code.UNAVAILABLE, "Rank 0 lost its data connection to rank 2 (reset)");
  }

  @Test
  void aStreamThatEndsAtARankThatLeftIsThatRanksMistake() {
    join(0, 1, 2, 3);
    lost(0, 2);
    job.receive(2, Message.LEAVE, Packet.of(new byte[0]), 0);
    tick(.6);
    assertAllFail(Code.FAILED_PRECONDITION, "Rank 2 left the job while rank 0 still exchanged");
  }

  private void lost(int reporter, int suspect) {
    Packet how = Packet.empty().putInt(suspect).putString("reset");
    job.receive(reporter, Message.LOST, Packet.of(how.toBytes()), 0);
  }

  @Test
  void missingRanksAreNamedWhenTheTimeToJoinIsOver() {
    join(1);
    hear(9.9, 1);
    tick(10);
    assertNull(failures[1]);
    tick(10.1);
    assertEquals(Code.DEADLINE_EXCEEDED, failures[1].code());
    assertTrue(
        failures[1]
            .getMessage()
            .startsWith("The job at 127.0.0.1:7 has waited 10 s for ranks 0, 2, 3 to join the job"),
        failures[1].getMessage());
  }
}
