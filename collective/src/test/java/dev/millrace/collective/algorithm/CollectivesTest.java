package dev.millrace.collective.algorithm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.collective.peers.RankPeers;
import dev.millrace.collective.peers.ThreadPeers;
import dev.millrace.collective.peers.Topology;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.collective.testing.Ranks;
import dev.millrace.collective.testing.Scalars;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CollectivesTest {
  /** What one rank does with its operations. */
  private interface Body {
    void run(int rank, Collectives all) throws Exception;
  }

  private static void run(List<RankPeers> peers, Body body) {
    Ranks.run(
        peers,
        (rank, p) -> {
          try (Collectives all = new Collectives(p, Duration.ofSeconds(20), Algorithms.DEFAULT)) {
            body.run(rank, all);
          }
        });
  }

  private static List<RankPeers> onTwoHosts(int ranks) {
    return ThreadPeers.of(
        Topology.of(
            java.util.stream.IntStream.range(0, ranks).mapToObj(r -> r < (ranks + 1) / 2).toList()),
        1 << 20);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5, 8, 16})
  void broadcastBringsTheRootsBytesToAll(int ranks) {
    run(
        ThreadPeers.apart(ranks),
        (rank, all) -> {
          for (int bytes : new int[] {0, 1, 1000, 100_003}) {
            int root = (bytes + 1) % ranks;
            Tensor expected = Scalars.random(DType.UINT8, bytes, new Random(bytes));
            Tensor mine =
                Scalars.random(DType.UINT8, bytes, new Random(bytes + (rank == root ? 0 : 1)));
            all.broadcast(mine.data(), bytes, root);
            assertNull(Scalars.difference(expected, mine));
          }
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5, 8, 16})
  void allGatherBringsRaggedBlocksToAll(int ranks) {
    run(
        onTwoHosts(ranks),
        (rank, all) -> {
          long[] bounds = new long[ranks + 1];
          for (int r = 0; r < ranks; r++) {
            bounds[r + 1] = bounds[r] + (r % 3 == 1 ? 0 : 10_000L * r + 1);
          }
          int total = (int) bounds[ranks];
          Tensor expected = Scalars.random(DType.UINT8, total, new Random(3));
          Tensor mine = Scalars.random(DType.UINT8, total, new Random(4));
          long at = bounds[rank];
          MemorySegment.copy(expected.data(), at, mine.data(), at, bounds[rank + 1] - at);
          all.allGather(mine.data(), bounds);
          assertNull(Scalars.difference(expected, mine));
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5, 8, 16})
  void allToAllSendsEachRankItsBlock(int ranks) {
    run(
        ThreadPeers.apart(ranks),
        (rank, all) -> {
          // Rank s sends (s + 2 d) elements with value 100 s + d to rank d.
          long[] in = new long[ranks + 1];
          long[] out = new long[ranks + 1];
          for (int r = 0; r < ranks; r++) {
            in[r + 1] = in[r] + 4L * (rank + 2 * r);
            out[r + 1] = out[r] + 4L * (r + 2 * rank);
          }
          Tensor sent = Tensor.allocate(DType.INT32, Shape.of(in[ranks] / 4));
          Tensor got = Tensor.allocate(DType.INT32, Shape.of(out[ranks] / 4));
          for (int d = 0; d < ranks; d++) {
            for (long i = in[d] / 4; i < in[d + 1] / 4; i++) {
              sent.setLong(i, 100L * rank + d);
            }
          }
          all.allToAll(sent.data(), in, got.data(), out);
          for (int s = 0; s < ranks; s++) {
            for (long i = out[s] / 4; i < out[s + 1] / 4; i++) {
              assertEquals(100L * s + rank, got.longAt(i));
            }
          }
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5, 8, 16})
  void reduceScatterLeavesEachRankItsPart(int ranks) {
    int n = 5003;
    Tensor[] inputs = new Tensor[ranks];
    for (int r = 0; r < ranks; r++) {
      inputs[r] = Scalars.random(DType.FLOAT, n, new Random(r));
    }
    long[] bounds = new long[ranks + 1];
    for (int r = 0; r < ranks; r++) {
      bounds[r + 1] = r == ranks - 1 ? 4L * n : bounds[r] + 4L * (n / ranks);
    }
    run(
        onTwoHosts(ranks),
        (rank, all) -> {
          Tensor mine = Refs.copy(inputs[rank]);
          all.reduceScatter(mine.data(), bounds, DType.FLOAT, ReduceOp.SUM);
          Tensor expected = Refs.copy(inputs[(rank + 1) % ranks]);
          for (int i = (int) bounds[rank] / 4; i < bounds[rank + 1] / 4; i++) {
            for (int k = 2; k <= ranks; k++) {
              Scalars.pair(ReduceOp.SUM, expected, inputs[(rank + k) % ranks], i);
            }
            assertEquals((float) expected.doubleAt(i), (float) mine.doubleAt(i));
          }
          Refs.release(mine);
          Refs.release(expected);
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 8})
  void nobodyLeavesABarrierBeforeAllHaveCome(int ranks) {
    for (List<RankPeers> peers :
        List.of(ThreadPeers.apart(ranks), ThreadPeers.together(ranks, 0), onTwoHosts(ranks))) {
      AtomicInteger arrived = new AtomicInteger();
      run(
          peers,
          (rank, all) -> {
            for (int round = 1; round <= 50; round++) {
              arrived.incrementAndGet();
              all.barrier();
              assertTrue(arrived.get() >= round * ranks);
              all.barrier();
            }
          });
    }
  }

  @Test
  void exchangeGivesEveryRanksWordsInOrder() {
    run(
        ThreadPeers.apart(5),
        (rank, all) -> {
          long[][] words = all.exchange(rank, 10 + rank);
          for (int r = 0; r < 5; r++) {
            assertArrayEquals(new long[] {r, 10 + r}, words[r]);
          }
        });
  }

  @Test
  void subsetsAndTheWholeTakeTurnsOnTheSameLinks() {
    for (List<RankPeers> peers : List.of(ThreadPeers.together(4, 1 << 20), onTwoHosts(4))) {
      Ranks.run(
          peers,
          (rank, p) -> {
            int[] some = rank == 3 ? null : new int[] {0, 1, 2};
            try (Collectives all = new Collectives(p, Duration.ofSeconds(20), Algorithms.DEFAULT);
                Collectives few =
                    some == null
                        ? null
                        : new Collectives(
                            p.subset(some), Duration.ofSeconds(20), Algorithms.DEFAULT)) {
              for (int round = 0; round < 60; round++) {
                int n = round % 3 == 0 ? 100_000 : 10 * round;
                assertEquals(4, sumOfOnes(all, n));
                if (few != null) {
                  assertEquals(3, sumOfOnes(few, n));
                }
              }
            }
          });
    }
  }

  private static double sumOfOnes(Collectives all, int n) {
    Tensor t = Refs.allocate(DType.FLOAT, Shape.of(n + 1));
    for (int i = 0; i <= n; i++) {
      t.setDouble(i, 1);
    }
    all.allReduce(
        t.data(), VectorParts.bounds(t.byteSize(), all.parts()), DType.FLOAT, ReduceOp.SUM);
    for (int i = 1; i <= n; i++) {
      assertEquals(t.doubleAt(0), t.doubleAt(i));
    }
    double sum = t.doubleAt(0);
    Refs.release(t);
    return sum;
  }

  @Test
  void ranksThatDoDifferentThingsAllLearnWhoDidWhat() {
    for (Algorithms a : List.of(Algorithms.GATHER, Algorithms.DIRECT, Algorithms.RING)) {
      mismatch(ThreadPeers.apart(4), a);
    }
    mismatch(ThreadPeers.together(4, 0), Algorithms.DEFAULT);
    mismatch(onTwoHosts(4), Algorithms.RING);
  }

  private static void mismatch(List<RankPeers> peers, Algorithms algorithms) {
    List<Throwable> outcomes =
        Ranks.outcomes(
            peers,
            (rank, p) -> {
              int n = rank == 2 ? 2000 : 3000;
              try (Collectives all = new Collectives(p, Duration.ofSeconds(20), algorithms);
                  Tensor t = Tensor.allocate(DType.FLOAT, Shape.of(n))) {
                all.allReduce(
                    t.data(), VectorParts.bounds(4L * n, all.parts()), DType.FLOAT, ReduceOp.SUM);
                all.barrier();
              }
            });
    for (Throwable t : outcomes) {
      MillraceException e = (MillraceException) t;
      assertEquals(Code.INVALID_ARGUMENT, e.code(), e.getMessage());
      assertTrue(
          e.getMessage().contains("rank 2 does all-reduce SUM of float of 8000 bytes"),
          e.getMessage());
    }
  }
}
