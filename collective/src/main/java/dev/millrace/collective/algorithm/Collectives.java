package dev.millrace.collective.algorithm;

import dev.millrace.collective.peers.HostGroup;
import dev.millrace.collective.peers.RankPeers;
import dev.millrace.collective.peers.Topology;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.collective.reduce.Reducer;
import dev.millrace.tensor.DType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;

/**
 * The collective operations of one rank, on native memory. All ranks must call the same ones in the
 * same order; a rank that does otherwise fails the job with a message that says who did what.
 *
 * <p>Results do not depend on the algorithm chosen: a reduction takes its values in the order that
 * {@link Topology} fixes, whatever the size, the transport or the company a vector travels in.
 *
 * <p>Threading: one thread at a time.
 */
public final class Collectives implements AutoCloseable {
  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;

  private final RankPeers peers;
  private final Algorithms algorithms;
  private final Topology topology;
  private final Scratch scratch = new Scratch();
  private final Scratch blocks = new Scratch();
  private final Transfers transfers;
  private final RingPipeline relay;
  private final BruckGather gather;
  private final PairExchange exchange;
  private final Direct direct;
  private final RingReduce ring;
  private final DataMovement spread;

  /** Null where this rank shares memory with nobody. */
  private final HostBarrier barrier;

  private final IslandReduce islandReduce;

  private final TwoLevelReduce twoLevel;
  private int sequence;

  /**
   * The operations between these peers. A rank that sees nothing move for {@code timeout} gives up.
   */
  public Collectives(RankPeers peers, Duration timeout, Algorithms algorithms) {
    this.peers = peers;
    this.algorithms = algorithms;
    this.topology = peers.topology();
    RankWait patience = new RankWait(peers, timeout);
    MemorySegment block = blocks.atLeast(2 * RingPipeline.BLOCK_BYTES + 2 * Envelope.BYTES);
    transfers = new Transfers(peers, patience);
    relay =
        new RingPipeline(
            peers,
            patience,
            block.asSlice(0, RingPipeline.BLOCK_BYTES),
            block.asSlice(2 * RingPipeline.BLOCK_BYTES, 2 * Envelope.BYTES));
    gather = new BruckGather(peers, transfers, scratch);
    exchange = new PairExchange(peers, patience, scratch);
    direct = new Direct(peers, transfers, scratch);
    ring = new RingReduce(peers, relay);
    spread = new DataMovement(peers, transfers, relay, scratch);
    HostGroup island = peers.island();
    barrier = island == null ? null : new HostBarrier(peers, patience);
    islandReduce = island == null ? null : new IslandReduce(peers, barrier);
    twoLevel =
        new TwoLevelReduce(
            peers,
            relay,
            barrier,
            block.asSlice(RingPipeline.BLOCK_BYTES, RingPipeline.BLOCK_BYTES));
  }

  /** Into how many parts a vector is cut for {@link #allReduce}. */
  public int parts() {
    return topology.islands();
  }

  /**
   * Replaces a vector on all ranks by the reduction of all of them. {@code bounds} says where its
   * {@link #parts} begin and where the last ends; for a vector on its own that is {@link
   * VectorParts#bounds}, for several packed into one it keeps each element in the part it would be
   * in alone.
   */
  public void allReduce(MemorySegment data, long[] bounds, DType dtype, ReduceOp op) {
    Reducer reducer = Reducer.of(dtype, op);
    if (peers.size() == 1) {
      return;
    }
    long bytes = bounds[bounds.length - 1];
    Envelope envelope = next(Envelope.Kind.ALL_REDUCE, op, dtype, 0, bytes);
    AllReduceCall r = new AllReduceCall(data, bounds, reducer, envelope);
    switch (algorithms.choose(topology, bytes)) {
      case ISLAND -> islandReduce.reduce(r);
      case GATHER -> gather.reduce(r);
      case EXCHANGE -> exchange.reduce(r);
      case DIRECT -> direct.reduce(r);
      case RING -> ring.reduce(r);
      case TWO_LEVEL -> twoLevel.reduce(r);
    }
  }

  /** Waits until all ranks have called it. */
  public void barrier() {
    Envelope envelope = next(Envelope.Kind.BARRIER, null, null, 0, 0);
    if (barrier != null && topology.islands() == 1) {
      barrier.await(envelope, 0);
    } else if (peers.size() > 1) {
      gather.run(MemorySegment.NULL, 0, envelope);
    }
  }

  /**
   * What every rank gives, in order of rank. All must give equally many words: for what must be
   * known before the sizes of the data are.
   */
  public long[][] exchange(long... words) {
    MemorySegment mine = blocks.atLeast(0).asSlice(0, words.length * 8L);
    MemorySegment.copy(words, 0, mine, LONG, 0, words.length);
    long[][] all = new long[peers.size()][words.length];
    gather.run(mine, mine.byteSize(), next(Envelope.Kind.EXCHANGE, null, null, 0, mine.byteSize()));
    for (int r = 0; r < all.length; r++) {
      MemorySegment.copy(gather.blocks(), LONG, gather.at(r), all[r], 0, words.length);
    }
    return all;
  }

  /** Overwrites a vector on all ranks by that of rank {@code root}. */
  public void broadcast(MemorySegment data, long bytes, int root) {
    if (peers.size() > 1) {
      Envelope envelope = next(Envelope.Kind.BROADCAST, null, null, root, bytes);
      spread.broadcast(data, bytes, root, envelope);
    }
  }

  /**
   * Brings every rank's block to all. {@code bounds} says where the blocks are in {@code data}, in
   * order of rank; this rank's must be in its place already.
   */
  public void allGather(MemorySegment data, long[] bounds) {
    if (peers.size() > 1) {
      Envelope envelope = next(Envelope.Kind.ALL_GATHER, null, null, 0, bounds[peers.size()]);
      spread.allGather(data, bounds, envelope);
    }
  }

  /**
   * Sends block {@code r} of {@code in} to rank {@code r}, and stores what rank {@code r} sends as
   * block {@code r} of {@code out}. The bounds say where the blocks begin and the last ends; both
   * sides must agree on the sizes.
   */
  public void allToAll(MemorySegment in, long[] inBounds, MemorySegment out, long[] outBounds) {
    Envelope envelope = next(Envelope.Kind.ALL_TO_ALL, null, null, 0, 0);
    spread.allToAll(in, inBounds, out, outBounds, envelope);
  }

  /**
   * Reduces a vector over all ranks and leaves part {@code r} of the result to rank {@code r}, in
   * its place; the rest of the vector is undefined afterwards. Part {@code r} is reduced in the
   * order {@code r + 1, r + 2, ..., r} of ranks, whatever the topology.
   */
  public void reduceScatter(MemorySegment data, long[] bounds, DType dtype, ReduceOp op) {
    Reducer reducer = Reducer.of(dtype, op);
    if (peers.size() > 1) {
      Envelope envelope = next(Envelope.Kind.REDUCE_SCATTER, op, dtype, 0, bounds[peers.size()]);
      ring.reduceScatter(new AllReduceCall(data, bounds, reducer, envelope));
    }
  }

  private Envelope next(Envelope.Kind kind, ReduceOp op, DType dtype, int detail, long bytes) {
    return Envelope.of(kind, op, dtype, detail, sequence++, bytes);
  }

  /** Gives the working memory back. */
  @Override
  public void close() {
    scratch.close();
    blocks.close();
  }
}
