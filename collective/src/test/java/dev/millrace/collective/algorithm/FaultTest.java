package dev.millrace.collective.algorithm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.collective.member.JobEntry;
import dev.millrace.collective.member.Service;
import dev.millrace.collective.peers.Connector;
import dev.millrace.collective.peers.RankPeers;
import dev.millrace.collective.peers.ThreadPeers;
import dev.millrace.collective.peers.Topology;
import dev.millrace.collective.peers.Transport;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.collective.testing.FaultyPeers;
import dev.millrace.collective.testing.Jobs;
import dev.millrace.collective.testing.Ranks;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A rank that dies or stops, after any byte it sends or receives, is named by all the others. */
class FaultTest {
  private static final int RANKS = 4;
  private static final int VICTIM = 2;

  /** More than any algorithm's blocks, stages and links hold. */
  private static final int ELEMENTS = 300_000;

  /** Within this time all have ended; it is less than their patience, so not for want of it. */
  private static final Duration NOTICE = Duration.ofSeconds(10);

  /** Bytes the victim had moved when its last all-reduce was over. */
  private static final AtomicLong MOVED = new AtomicLong();

  private static int victim(Topology topology) {
    return topology.size() / 2;
  }

  private static List<RankPeers> withFault(
      Topology topology, FaultyPeers.Kind kind, long afterBytes) {
    List<RankPeers> peers = new ArrayList<>(ThreadPeers.of(topology, 0));
    int victim = victim(topology);
    peers.set(victim, new FaultyPeers(peers.get(victim), kind, afterBytes));
    return peers;
  }

  private static void allReduce(RankPeers p, Algorithms algorithms, Duration timeout) {
    try (Collectives all = new Collectives(p, timeout, algorithms);
        Tensor t = Tensor.allocate(DType.FLOAT, Shape.of(ELEMENTS))) {
      t.data().fill((byte) 0);
      long[] bounds = VectorParts.bounds(t.byteSize(), all.parts());
      all.allReduce(t.data(), bounds, DType.FLOAT, ReduceOp.SUM);
      if (p instanceof FaultyPeers victim) {
        MOVED.set(victim.moved());
      }
      all.barrier();
    }
  }

  /** Bytes the victim moves in an all-reduce when nothing goes wrong. */
  private static long bytesMoved(Topology topology, Algorithms algorithms) {
    List<RankPeers> peers = withFault(topology, FaultyPeers.Kind.DEATH, Long.MAX_VALUE);
    Ranks.run(peers, (rank, p) -> allReduce(p, algorithms, Duration.ofSeconds(20)));
    return MOVED.get();
  }

  @Test
  void aDeathAtAnyPointIsNamedByAllOthers() {
    for (Algorithms a : List.of(Algorithms.GATHER, Algorithms.DIRECT, Algorithms.RING)) {
      deaths(Topology.apart(RANKS), a);
    }
    deaths(Topology.apart(2), Algorithms.EXCHANGE);
    deaths(Topology.of(List.of(0, 0, 1, 1)), Algorithms.RING);
  }

  private static void deaths(Topology topology, Algorithms algorithms) {
    for (long after : momentsOfDeath(bytesMoved(topology, algorithms))) {
      List<RankPeers> peers = withFault(topology, FaultyPeers.Kind.DEATH, after);
      long start = System.nanoTime();
      List<Throwable> outcomes =
          Ranks.outcomes(peers, (rank, p) -> allReduce(p, algorithms, Duration.ofSeconds(20)));
      assertAllName(victim(topology), outcomes, "after " + after);
      Duration took = Duration.ofNanos(System.nanoTime() - start);
      assertTrue(took.compareTo(NOTICE) < 0, "after " + after + ": " + took);
    }
  }

  /**
   * Spread over the whole, and around the ends of envelopes and of every block. At the latest the
   * barrier that follows finds the rank gone.
   */
  private static Set<Long> momentsOfDeath(long total) {
    assertTrue(total > 0);
    Set<Long> moments = new TreeSet<>();
    for (int i = 0; i <= 12; i++) {
      moments.add(total * i / 12);
    }
    // Of a relay's blocks, which are longer, each ends with one of these.
    assertEquals(0, RingPipeline.BLOCK_BYTES % PairExchange.BLOCK_BYTES);
    for (long off = -1; off <= 1; off++) {
      moments.add(Math.min(total, Envelope.BYTES + off));
      moments.add(Math.min(total, 2 * Envelope.BYTES + off));
      for (long end = PairExchange.BLOCK_BYTES; end < total; end += PairExchange.BLOCK_BYTES) {
        moments.add(end + off);
      }
    }
    return moments;
  }

  private static void assertAllName(int victim, List<Throwable> outcomes, String when) {
    for (int r = 0; r < outcomes.size(); r++) {
      Throwable t = outcomes.get(r);
      assertNotNull(t, "rank " + r + " " + when);
      MillraceException e = (MillraceException) t;
      assertEquals(Code.UNAVAILABLE, e.code(), e.getMessage());
      assertTrue(e.getMessage().contains("Rank " + victim + " died"), e.getMessage());
    }
  }

  /** The same between ranks that talk as processes do. */
  @ParameterizedTest
  @EnumSource(
      value = Transport.class,
      names = {"UNIX", "TCP"})
  void aDeathOnASocketIsNamedByAllOthers(Transport transport) {
    deathsOnSockets(transport, Topology.apart(3), Algorithms.GATHER);
    deathsOnSockets(transport, Topology.apart(3), Algorithms.DIRECT);
    deathsOnSockets(transport, Topology.apart(3), Algorithms.RING);
    deathsOnSockets(transport, Topology.apart(2), Algorithms.EXCHANGE);
  }

  private static void deathsOnSockets(
      Transport transport, Topology topology, Algorithms algorithms) {
    long total = bytesMoved(topology, algorithms);
    for (long after : new long[] {0, Envelope.BYTES, total / 2 + 1, total}) {
      int victim = victim(topology);
      List<Throwable> outcomes =
          Ranks.outcomes(
              Jobs.settings(topology.size(), transport),
              (rank, s) -> {
                try (JobEntry job =
                    JobEntry.enter(s.place(), s.terms(), Platform.system(), Service::none)) {
                  job.awaitAll();
                  try (RankPeers p =
                      Connector.connect(
                              job.member(),
                              job.token(),
                              s.place(),
                              transport,
                              s.terms(),
                              Platform.system(),
                              false)
                          .peers()) {
                    RankPeers own =
                        rank == victim ? new FaultyPeers(p, FaultyPeers.Kind.DEATH, after) : p;
                    allReduce(own, algorithms, Duration.ofSeconds(20));
                  }
                }
              });
      assertAllName(victim, outcomes, "over " + transport + " after " + after);
    }
  }

  @Test
  void aRankThatStopsIsNamedWhenPatienceEnds() {
    List<Runnable> cases = new ArrayList<>();
    for (Algorithms a : List.of(Algorithms.GATHER, Algorithms.DIRECT, Algorithms.RING)) {
      cases.addAll(standstills(Topology.apart(RANKS), a));
    }
    cases.addAll(standstills(Topology.apart(2), Algorithms.EXCHANGE));
    // All at once, as each takes its time: more than a busy machine keeps a rank waiting.
    Ranks.run(cases, (i, c) -> c.run());
  }

  private static List<Runnable> standstills(Topology topology, Algorithms algorithms) {
    long total = bytesMoved(topology, algorithms);
    return Stream.of(total / 3, PairExchange.BLOCK_BYTES, 2 * total / 3, total - 1)
        .<Runnable>map(after -> () -> standstill(topology, algorithms, after))
        .toList();
  }

  private static void standstill(Topology topology, Algorithms algorithms, long after) {
    List<RankPeers> peers = withFault(topology, FaultyPeers.Kind.STANDSTILL, after);
    List<Throwable> outcomes =
        Ranks.outcomes(
            peers,
            (rank, p) ->
                // The victim itself must not be the first to lose patience.
                allReduce(
                    p, algorithms, Duration.ofMillis(rank == victim(topology) ? 20_000 : 1500)));
    String first = null;
    for (Throwable t : outcomes) {
      MillraceException e = (MillraceException) t;
      assertEquals(Code.DEADLINE_EXCEEDED, e.code(), e.getMessage());
      first = first == null ? e.getMessage() : first;
      assertEquals(first, e.getMessage(), "all must report the same first failure");
      assertTrue(e.getMessage().contains(" bytes"), e.getMessage());
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
