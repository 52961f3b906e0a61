package dev.millrace.collective.algorithm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.collective.peers.Peers;
import dev.millrace.collective.peers.ThreadPeers;
import dev.millrace.collective.peers.Topology;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.collective.testing.FaultyPeers;
import dev.millrace.collective.testing.Ranks;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A rank that dies or stops, after any byte it sends or receives, is named by all the others. */
class FaultTest {
  private static final int RANKS = 4;
  private static final int ELEMENTS = 60_000;
  private static final int VICTIM = 2;

  /** Bytes the victim had moved when its last all-reduce was over. */
  private static final AtomicLong MOVED = new AtomicLong();

  private static List<Peers> withFault(Topology topology, FaultyPeers.Kind kind, long afterBytes) {
    List<Peers> peers = new ArrayList<>(ThreadPeers.of(topology, 0));
    peers.set(VICTIM, new FaultyPeers(peers.get(VICTIM), kind, afterBytes));
    return peers;
  }

  private static void allReduce(Peers p, Algorithms algorithms, Duration timeout) {
    try (Collectives all = new Collectives(p, timeout, algorithms);
        Tensor t = Tensor.allocate(DType.FLOAT, Shape.of(ELEMENTS))) {
      t.data().fill((byte) 0);
      long[] bounds = Split.bounds(t.byteSize(), all.parts());
      all.allReduce(t.data(), bounds, DType.FLOAT, ReduceOp.SUM);
      if (p instanceof FaultyPeers victim) {
        MOVED.set(victim.moved());
      }
      all.barrier();
    }
  }

  /** Bytes the victim moves in an all-reduce when nothing goes wrong. */
  private static long bytesMoved(Topology topology, Algorithms algorithms) {
    List<Peers> peers = withFault(topology, FaultyPeers.Kind.DEATH, Long.MAX_VALUE);
    Ranks.run(peers, (rank, p) -> allReduce(p, algorithms, Duration.ofSeconds(20)));
    return MOVED.get();
  }

  @Test
  void aDeathAtAnyPointIsNamedByAllOthers() {
    Topology apart = Topology.apart(RANKS);
    Topology twoHosts = Topology.of(List.of(0, 0, 1, 1));
    for (Algorithms a : List.of(Algorithms.GATHER, Algorithms.DIRECT, Algorithms.RING)) {
      deaths(apart, a);
    }
    deaths(twoHosts, Algorithms.RING);
  }

  private static void deaths(Topology topology, Algorithms algorithms) {
    long total = bytesMoved(topology, algorithms);
    assertTrue(total > 0);
    for (int i = 0; i <= 12; i++) {
      // At the latest the barrier that follows finds the rank gone.
      long after = total * i / 12;
      List<Peers> peers = withFault(topology, FaultyPeers.Kind.DEATH, after);
      List<Throwable> outcomes =
          Ranks.outcomes(peers, (rank, p) -> allReduce(p, algorithms, Duration.ofSeconds(20)));
      for (int r = 0; r < RANKS; r++) {
        Throwable t = outcomes.get(r);
        assertNotNull(t, "rank " + r + " after " + after + " of " + total);
        MillraceException e = (MillraceException) t;
        assertEquals(Code.UNAVAILABLE, e.code(), e.getMessage());
        assertTrue(e.getMessage().contains("Rank 2 died"), e.getMessage());
      }
    }
  }

  @Test
  void aRankThatStopsIsNamedWhenPatienceEnds() {
    Topology apart = Topology.apart(RANKS);
    for (Algorithms a : List.of(Algorithms.GATHER, Algorithms.DIRECT, Algorithms.RING)) {
      long total = bytesMoved(apart, a);
      List<Peers> peers = withFault(apart, FaultyPeers.Kind.STANDSTILL, total / 3);
      List<Throwable> outcomes =
          Ranks.outcomes(
              peers,
              (rank, p) ->
                  // The victim itself must not be the first to lose patience.
                  allReduce(p, a, Duration.ofMillis(rank == VICTIM ? 20_000 : 300)));
      String first = null;
      for (Throwable t : outcomes) {
        MillraceException e = (MillraceException) t;
        assertEquals(Code.DEADLINE_EXCEEDED, e.code());
        first = first == null ? e.getMessage() : first;
        assertEquals(first, e.getMessage(), "all must report the same first failure");
      }
    }
  }

  @Test
  void aRankThatDiesBetweenMeetingsIsNamedByThoseWhoShareItsMemory() {
    for (long window : new long[] {0, 8 << 20}) {
      List<Throwable> outcomes =
          Ranks.outcomes(
              ThreadPeers.together(RANKS, window),
              (rank, p) -> {
                allReduce(p, Algorithms.DEFAULT, Duration.ofSeconds(20));
                if (rank == VICTIM) {
                  throw p.liveness().fail(new MillraceException(Code.UNAVAILABLE, "Rank 2 died."));
                }
                allReduce(p, Algorithms.DEFAULT, Duration.ofSeconds(20));
              });
      for (Throwable t : outcomes) {
        MillraceException e = (MillraceException) t;
        assertNotNull(e);
        assertTrue(e.getMessage().contains("Rank 2 died"), e.getMessage());
      }
    }
  }
}
