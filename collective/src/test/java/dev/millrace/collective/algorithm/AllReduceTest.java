package dev.millrace.collective.algorithm;

import static org.junit.jupiter.api.Assertions.assertNull;

import dev.millrace.collective.peers.RankPeers;
import dev.millrace.collective.peers.ThreadPeers;
import dev.millrace.collective.peers.Topology;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.collective.testing.FaultyPeers;
import dev.millrace.collective.testing.Ranks;
import dev.millrace.collective.testing.Scalars;
import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever the algorithm, the result is the plain reduction in the order the topology fixes. */
class AllReduceTest {
  private static final long SEED = Long.getLong("millrace.seed", 7);
  private static final int[] SIZES = {0, 1, 2, 7, 16, 300, 2099};

  /** Passes every algorithm's chunk and stage sizes. */
  private static final int LARGE = 300_001;

  /** One all-reduce: what, and whether the vectors lie in the ranks' windows. */
  private record Case(DType dtype, ReduceOp op, int elements, long windowed) {}

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
  void gatherDirectAndRingEqualThePlainReduction(int ranks) {
    for (Algorithms a : List.of(Algorithms.GATHER, Algorithms.DIRECT, Algorithms.RING)) {
      check(Topology.apart(ranks), a);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 8, 13, 16})
  void sharedMemoryEqualsThePlainReduction(int ranks) {
    check(Topology.of(IntStream.range(0, ranks).mapToObj(r -> 0).toList()), Algorithms.DEFAULT);
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 4, 6, 9, 16})
  void twoLevelsEqualThePlainReduction(int ranks) {
    // Even hosts, uneven ones, and ranks dealt to hosts in turn.
    check(hosts(ranks, r -> r / Math.max(1, ranks / 2)), Algorithms.RING);
    check(hosts(ranks, r -> r == 0 ? 0 : r < 3 ? 1 : 2), Algorithms.RING);
    check(hosts(ranks, r -> r % 2), Algorithms.RING);
    check(hosts(ranks, r -> r % 3), Algorithms.DEFAULT);
  }

  /** The other tests draw types and operations; this one leaves none out. */
  @Test
  void everyTypeAndOperationIsReducedAlikeByEveryAlgorithm() {
    List<Case> cases = everyTypeAndOperation(333);
    for (Algorithms a : List.of(Algorithms.GATHER, Algorithms.DIRECT, Algorithms.RING)) {
      check(Topology.apart(3), a, cases, new Random(SEED));
    }
    check(hosts(3, r -> 0), Algorithms.DEFAULT, cases, new Random(SEED));
    check(hosts(3, r -> r / 2), Algorithms.RING, cases, new Random(SEED));
  }

  @Test
  void twoRanksExchangeEveryType() {
    check(Topology.apart(2), Algorithms.EXCHANGE, everyTypeAndOperation(17_001), new Random(SEED));
  }

  @Test
  void twoRanksExchangeVectorsOfAnyLength() {
    check(Topology.apart(2), Algorithms.EXCHANGE);
    int block = (int) PairExchange.BLOCK_BYTES;
    List<Case> cases = new ArrayList<>();
    for (int bytes : new int[] {block / 2, block, 2 * block}) {
      for (int off = -1; off <= 1; off++) {
        cases.add(new Case(DType.INT8, ReduceOp.SUM, bytes + off, 0));
        cases.add(new Case(DType.FLOAT, ReduceOp.AVERAGE, bytes / 4 + off, 0));
      }
    }
    check(Topology.apart(2), Algorithms.EXCHANGE, cases, new Random(SEED));
  }

  @Test
  void streamsThatBreakAnywhereChangeNothing() {
    List<Case> cases =
        List.of(
            new Case(DType.FLOAT, ReduceOp.SUM, LARGE, 0),
            new Case(DType.COMPLEX128, ReduceOp.PRODUCT, 5_001, 0),
            new Case(DType.INT16, ReduceOp.MAX, 7, 0));
    for (Algorithms a : List.of(Algorithms.GATHER, Algorithms.DIRECT, Algorithms.RING)) {
      check(broken(Topology.apart(3)), Topology.apart(3), a, cases, new Random(SEED));
    }
    Topology two = Topology.apart(2);
    check(broken(two), two, Algorithms.EXCHANGE, cases, new Random(SEED));
    Topology hosts = hosts(4, r -> r / 2);
    check(broken(hosts), hosts, Algorithms.RING, cases, new Random(SEED));
  }

  /** Peers whose streams take and give any number of bytes at a time. */
  private static List<RankPeers> broken(Topology topology) {
    return ThreadPeers.of(topology, 0).stream()
        .<RankPeers>map(p -> new FaultyPeers(p, new Random(SEED + p.rank())))
        .toList();
  }

  private static List<Case> everyTypeAndOperation(int elements) {
    List<Case> cases = new ArrayList<>();
    for (DType dtype : Scalars.TYPES) {
      for (ReduceOp op : ReduceOp.values()) {
        if (Scalars.isDefined(dtype, op)) {
          cases.add(new Case(dtype, op, elements, 0b101));
        }
      }
    }
    return cases;
  }

  private static Topology hosts(int ranks, java.util.function.IntUnaryOperator hostOf) {
    return Topology.of(IntStream.range(0, ranks).map(hostOf).boxed().toList());
  }

  private static void check(Topology topology, Algorithms algorithms) {
    int ranks = topology.size();
    Random random = new Random(SEED + ranks);
    List<Case> cases = new ArrayList<>();
    for (int elements : SIZES) {
      for (int i = 0; i < 3; i++) {
        DType dtype = Scalars.TYPES.get(random.nextInt(Scalars.TYPES.size()));
        ReduceOp op = ReduceOp.values()[random.nextInt(ReduceOp.values().length)];
        if (Scalars.isDefined(dtype, op)) {
          cases.add(new Case(dtype, op, elements, new long[] {0, -1, random.nextLong()}[i]));
        }
      }
    }
    for (long windowed : new long[] {0, -1, random.nextLong()}) {
      if (windowed == 0 || topology.islands() < ranks) {
        cases.add(new Case(DType.FLOAT, ReduceOp.SUM, LARGE, windowed));
      }
    }
    check(topology, algorithms, cases, random);
  }

  private static void check(
      Topology topology, Algorithms algorithms, List<Case> cases, Random random) {
    check(ThreadPeers.of(topology, 8 << 20), topology, algorithms, cases, random);
  }

  private static void check(
      List<RankPeers> peers,
      Topology topology,
      Algorithms algorithms,
      List<Case> cases,
      Random random) {
    int ranks = topology.size();
    List<Tensor[]> inputs = new ArrayList<>();
    List<Tensor> expected = new ArrayList<>();
    for (Case c : cases) {
      Tensor[] vectors = new Tensor[ranks];
      for (int r = 0; r < ranks; r++) {
        vectors[r] = c.elements == LARGE ? large(r) : Scalars.random(c.dtype, c.elements, random);
      }
      inputs.add(vectors);
      expected.add(c.elements == LARGE ? plainSum(topology, vectors) : plain(topology, c, vectors));
    }
    Ranks.run(
        peers,
        (rank, p) -> {
          try (Collectives all = new Collectives(p, Duration.ofSeconds(20), algorithms)) {
            for (int i = 0; i < cases.size(); i++) {
              Case c = cases.get(i);
              Tensor mine = place(p, inputs.get(i)[rank], (c.windowed >> rank & 1) == 1);
              long[] bounds = VectorParts.bounds(mine.byteSize(), all.parts());
              all.allReduce(mine.data(), bounds, c.dtype, c.op);
              String difference = Scalars.difference(expected.get(i), mine);
              assertNull(
                  difference,
                  () -> "rank " + rank + " " + c + " -Dmillrace.seed=" + SEED + ": " + difference);
              Refs.release(mine);
            }
          }
        });
  }

  /** A counted copy, in the rank's window if asked for and possible. */
  private static Tensor place(RankPeers peers, Tensor t, boolean inWindow) {
    Buffer buffer =
        inWindow && peers.island() != null ? peers.island().allocate(t.byteSize()) : null;
    if (buffer == null) {
      return Refs.copy(t);
    }
    Tensor copy = Refs.ofBuffer(t.dtype(), t.shape(), buffer);
    MemorySegment.copy(t.data(), 0, copy.data(), 0, t.byteSize());
    return copy;
  }

  /** The reduction as its definition says it, one element at a time. */
  private static Tensor plain(Topology topology, Case c, Tensor[] vectors) {
    Tensor out = Tensor.allocate(c.dtype, Shape.of(c.elements));
    long size = c.dtype.bytes();
    for (int part = 0; part < topology.islands(); part++) {
      long from = VectorParts.bound(out.byteSize(), topology.islands(), part) / size;
      long to = VectorParts.bound(out.byteSize(), topology.islands(), part + 1) / size;
      int[] order = topology.order(part);
      for (int i = (int) from; i < to; i++) {
        MemorySegment.copy(vectors[order[0]].data(), i * size, out.data(), i * size, size);
        for (int k = 1; k < order.length; k++) {
          Scalars.pair(c.op, out, vectors[order[k]], i);
        }
        Scalars.finish(c.op, out, i, order.length);
      }
    }
    return out;
  }

  /** Floats whose sums depend on their order, made quickly. */
  private static Tensor large(int rank) {
    float[] v = new float[LARGE];
    for (int i = 0; i < LARGE; i++) {
      v[i] = 1f / (1 + (i * 31 + rank * 7919) % 1009);
    }
    return Tensor.vector(v);
  }

  /** {@link #plain} for sums of floats, quickly. */
  private static Tensor plainSum(Topology topology, Tensor[] vectors) {
    float[] sum = new float[LARGE];
    for (int part = 0; part < topology.islands(); part++) {
      int from = (int) VectorParts.bound(4L * LARGE, topology.islands(), part) / 4;
      int to = (int) VectorParts.bound(4L * LARGE, topology.islands(), part + 1) / 4;
      boolean first = true;
      for (int rank : topology.order(part)) {
        float[] v = vectors[rank].toFloats();
        for (int i = from; i < to; i++) {
          sum[i] = first ? v[i] : sum[i] + v[i];
        }
        first = false;
      }
    }
    return Tensor.vector(sum);
  }
}
