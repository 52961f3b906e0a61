package dev.millrace.collective.algorithm;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.collective.peers.IdleStrategy;
import dev.millrace.collective.peers.RankPeers;
import java.time.Duration;

/**
 * How one rank waits for others: it spins a little, since they are often only microseconds behind,
 * then yields the processor, then sleeps. It gives up when the job has failed or when nothing has
 * moved for too long.
 */
final class RankWait {
  /**
   * How long a rank keeps its processor: about as long as another may take to copy what it sends.
   * Beyond that it costs much where the rank that is waited for wants the same processor.
   */
  private static final long SPIN_NANOS = 50_000;

  /** Looks at other ranks that are not even timed: in shared memory they answer within these. */
  private static final int FEW_SPINS = 64;

  private static final int FEW_YIELDS = 5;
  private static final long SLEEP_NANOS = 5_000_000;

  /**
   * How long the processor is offered before it is given away: longer than any rank that works on
   * the same operation stays behind, since waking from sleep costs more than all the offers.
   */
  private static final long YIELD_NANOS = 10_000_000;

  /** A rank that has left has sent all it will; what has not come by now never does. */
  private static final long LEFT_NANOS = 1_000_000_000;

  private final RankPeers peers;
  private final long timeoutNanos;
  private final int fewSpins;
  private final long spinNanos;
  private final long yieldNanos;
  private int idle;
  private long idleSinceNanos;

  RankWait(RankPeers peers, Duration timeout) {
    this.peers = peers;
    this.timeoutNanos = timeout.toNanos();
    boolean spins = peers.idling() == IdleStrategy.SPIN && peers.timers().spinLimit(SPIN_NANOS) > 0;
    this.fewSpins = spins ? FEW_SPINS : 0;
    this.spinNanos = spins ? SPIN_NANOS : 0;
    this.yieldNanos =
        peers.idling() == IdleStrategy.SLEEP ? 0 : peers.timers().spinLimit(YIELD_NANOS);
  }

  /** Something moved: patience begins anew. */
  void renew() {
    idle = 0;
  }

  /** Nothing moved. Returns after a moment, or throws the job's failure or that of this wait. */
  void pause(PendingWait stage) {
    int round = idle++;
    if (round < fewSpins) {
      Thread.onSpinWait();
      return;
    }
    long now = peers.timers().now();
    if (round == fewSpins) {
      idleSinceNanos = now;
    }
    long waited = now - idleSinceNanos;
    if (waited < spinNanos) {
      Thread.onSpinWait();
      return;
    }
    check(stage, waited);
    if (waited < yieldNanos || round < fewSpins + FEW_YIELDS) {
      Thread.yield();
    } else {
      peers.park(SLEEP_NANOS);
    }
  }

  private void check(PendingWait stage, long waited) {
    MillraceException failure = peers.liveness().failure();
    if (failure != null) {
      throw failure;
    }
    if (waited > LEFT_NANOS) {
      for (int r = 0; r < peers.size(); r++) {
        if (peers.hasLeft(r) && stage.waitsFor(r)) {
          throw peers.liveness().fail(left(r, stage));
        }
      }
    }
    if (waited > timeoutNanos) {
      throw peers
          .liveness()
          .fail(
              new MillraceException(
                  Code.DEADLINE_EXCEEDED,
                  String.format(
                      "Rank %d has waited %d s for %s. All ranks must run the same operations in"
                          + " the same order; see the log of the rank that is missing. The limit is"
                          + " the collective timeout.",
                      peers.rank(), waited / 1_000_000_000, stage.missing())));
    }
  }

  private MillraceException left(int rank, PendingWait stage) {
    return new MillraceException(
        Code.FAILED_PRECONDITION,
        String.format(
            "%s has left the job, and rank %d waits for %s. All ranks must run the same operations"
                + " before they leave.",
            peers.describe(rank), peers.rank(), stage.missing()));
  }
}
