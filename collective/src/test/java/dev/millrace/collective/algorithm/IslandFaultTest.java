package dev.millrace.collective.algorithm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.collective.member.JobEntry;
import dev.millrace.collective.member.Member;
import dev.millrace.collective.member.RankConfig;
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
import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.testkit.Slow;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A rank that dies, stops or leaves in the midst of a reduction in shared memory, before it comes
 * to any barrier or when it has told only some that it has, is named by all the others.
 */
@Slow
class IslandFaultTest {
  private static final Duration PATIENT = Duration.ofSeconds(20);

  /** Within this time all have ended; it is less than their patience, so not for want of it. */
  private static final Duration NOTICE = Duration.ofSeconds(10);

  /** One host; two; and two of which one has a single rank, so that two ranks have no lane. */
  private static final List<Topology> TOPOLOGIES =
      List.of(hosts(0, 0), hosts(0, 0, 0, 0), hosts(0, 0, 1, 1), hosts(0, 0, 0, 1));

  private static Topology hosts(Integer... hosts) {
    return Topology.of(Arrays.asList(hosts));
  }

  /** What is reduced, which decides the way it takes. */
  enum Vectors {
    /** In one barrier. */
    SMALL(4_000),
    /** In chunks or slabs, through the stages. */
    STAGED(1_200_000),
    /** Where they lie. */
    IN_WINDOWS(1_200_000),
    /** In chunks or slabs, some of them where they lie. */
    MIXED(1_200_000);

    private final long bytes;

    Vectors(long bytes) {
      this.bytes = bytes;
    }

    private Buffer allocate(RankPeers p) {
      boolean shared = this == IN_WINDOWS || this == MIXED && p.rank() % 2 == 0;
      return shared && p.island() != null
          ? p.island().allocate(bytes)
          : BufferPool.current().allocate(bytes);
    }

    /** Reduces them; {@code reduced} is called before the barrier that follows. */
    private void allReduce(RankPeers p, Duration timeout, Runnable reduced) {
      Buffer buffer = allocate(p);
      try (Collectives all = new Collectives(p, timeout, Algorithms.RING)) {
        MemorySegment data = buffer.memory().asSlice(0, bytes).fill((byte) 0);
        all.allReduce(data, VectorParts.bounds(bytes, all.parts()), DType.FLOAT, ReduceOp.SUM);
        reduced.run();
        all.barrier();
      } finally {
        buffer.release();
      }
    }

    /** How often a rank tells another that it has come, when nothing goes wrong. */
    private long told(Topology topology, int rank) {
      AtomicLong told = new AtomicLong();
      List<RankPeers> peers = withFault(topology, rank, Long.MAX_VALUE, p -> {});
      FaultyPeers watched = (FaultyPeers) peers.get(rank);
      Ranks.run(
          peers,
          (r, p) ->
              allReduce(p, PATIENT, p == watched ? () -> told.set(watched.told()) : () -> {}));
      return told.get();
    }
  }

  private static List<RankPeers> withFault(
      Topology topology, int victim, long after, Consumer<RankPeers> fault) {
    List<RankPeers> peers = new ArrayList<>(ThreadPeers.of(topology, 2 << 20));
    RankPeers own = peers.get(victim);
    peers.set(victim, FaultyPeers.amongMembers(own, after, () -> fault.accept(own)));
    return peers;
  }

  @ParameterizedTest
  @EnumSource
  void aDeathBeforeOrInAnyMeetingIsNamedByAllOthers(Vectors vectors) {
    for (Topology topology : TOPOLOGIES) {
      for (int victim = 0; victim < topology.size(); victim++) {
        // The rank that is alone on its host has no meetings.
        long told = topology.localSize(victim) == 1 ? 0 : vectors.told(topology, victim);
        for (long after = 0; after < told; after++) {
          death(vectors, topology, victim, after);
        }
      }
    }
  }

  private static void death(Vectors vectors, Topology topology, int victim, long after) {
    List<RankPeers> peers = withFault(topology, victim, after, IslandFaultTest::die);
    long start = System.nanoTime();
    List<Throwable> outcomes =
        Ranks.outcomes(peers, (rank, p) -> vectors.allReduce(p, PATIENT, () -> {}));
    long took = System.nanoTime() - start;
    String when = "rank " + victim + " of " + topology.size() + " after " + after;
    for (Throwable t : outcomes) {
      assertEnds(t, when, Code.UNAVAILABLE, "Rank " + victim + " died");
    }
    assertTrue(took < NOTICE.toNanos(), () -> when + ": " + took / 1e9 + " s");
  }

  private static void die(RankPeers p) {
    throw p.liveness().fail(new MillraceException(Code.UNAVAILABLE, "Rank " + p.rank() + " died."));
  }

  private static void assertEnds(Throwable t, String when, Code code, String text) {
    MillraceException e = assertInstanceOf(MillraceException.class, t, when);
    assertEquals(code, e.code(), () -> when + ": " + e.getMessage());
    assertTrue(e.getMessage().contains(text), () -> when + ": " + e.getMessage());
  }

  /** A case of those that take their time and so are tried together. */
  private record Case(Vectors vectors, Topology topology, int victim, long after) {
    /** Before the first barrier, in the midst of one, and when only the last rank is not told. */
    static List<Case> of(Vectors vectors, Topology topology) {
      int victim = topology.size() / 2;
      long told = vectors.told(topology, victim);
      return List.of(
          new Case(vectors, topology, victim, 0),
          new Case(vectors, topology, victim, told / 2 + 1),
          new Case(vectors, topology, victim, told - 1));
    }
  }

  private static List<Case> cases() {
    List<Case> cases = new ArrayList<>();
    for (Topology t : List.of(hosts(0, 0), hosts(0, 0, 0, 0), hosts(0, 0, 1, 1))) {
      cases.addAll(Case.of(Vectors.STAGED, t));
    }
    return cases;
  }

  @Test
  void aRankThatStopsEndsTheJobWhenPatienceEnds() {
    Ranks.run(
        cases(),
        (i, c) -> {
          List<Throwable> outcomes = standstill(c);
          String first = outcomes.getFirst().getMessage();
          for (Throwable t : outcomes) {
            assertEnds(t, c.toString(), Code.DEADLINE_EXCEEDED, first);
          }
          // Who waits on another host may lose patience first, with a rank that waits itself.
          if (c.topology.islands() == 1) {
            assertTrue(first.contains("rank " + c.victim), first);
            assertTrue(first.contains("to come to the same point"), first);
          }
        });
  }

  private static List<Throwable> standstill(Case c) {
    List<RankPeers> peers = withFault(c.topology, c.victim, c.after, IslandFaultTest::standStill);
    return Ranks.outcomes(
        peers, (rank, p) -> c.vectors.allReduce(p, Duration.ofSeconds(3), () -> {}));
  }

  /** Lives, but does nothing until the others have given up. */
  private static void standStill(RankPeers p) {
    while (p.liveness().failure() == null) {
      p.park(1_000_000);
    }
    throw p.liveness().failure();
  }

  /** The same between ranks that share memory and talk as processes do, TCP between hosts. */
  @Test
  void aRankWhoseProcessEndsIsNamedByAllOthers() {
    othersEnd(Member::close, Code.UNAVAILABLE, "ank %d died");
  }

  @Test
  void aRankThatLeavesIsNamedByAllOthers() {
    othersEnd(Member::leave, Code.FAILED_PRECONDITION, "ank %d", "left the job");
  }

  /** All ranks but the one it happens to end with this code and these words about that one. */
  private static void othersEnd(Consumer<Member> fault, Code code, String... words) {
    Ranks.run(
        cases(),
        (i, c) -> {
          List<Throwable> outcomes = outcomesInJob(c, fault);
          for (int r = 0; r < outcomes.size(); r++) {
            for (String w : words) {
              if (r != c.victim) {
                assertEnds(outcomes.get(r), c.toString(), code, w.replace("%d", "" + c.victim));
              }
            }
          }
        });
  }

  /** What becomes of every rank when {@code fault} happens to one. */
  private static List<Throwable> outcomesInJob(Case c, Consumer<Member> fault) {
    return Ranks.outcomes(
        Jobs.settings(c.topology.size(), Transport.SHARED_MEMORY),
        (rank, s) -> {
          RankConfig place = s.place().onHost("host " + c.topology.islandOf(rank));
          try (JobEntry job = JobEntry.enter(place, s.terms(), Platform.system(), Service::none)) {
            job.awaitAll();
            try (RankPeers p =
                Connector.connect(
                        job.member(),
                        job.token(),
                        place,
                        s.transport(),
                        s.terms(),
                        Platform.system(),
                        false)
                    .peers()) {
              RankPeers own =
                  rank == c.victim
                      ? FaultyPeers.amongMembers(p, c.after, () -> end(job.member(), fault))
                      : p;
              c.vectors.allReduce(own, PATIENT, () -> {});
            }
          }
        });
  }

  private static void end(Member member, Consumer<Member> fault) {
    fault.accept(member);
    throw new IllegalStateException("this rank is gone");
  }
}
