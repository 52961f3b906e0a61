package dev.millrace.collective.algorithm;

import dev.millrace.collective.peers.HostGroup;
import dev.millrace.collective.peers.RankPeers;
import dev.millrace.collective.reduce.Operands;
import java.lang.foreign.MemorySegment;

/**
 * All-reduce between ranks that are all on one host, through the memory they share.
 *
 * <ul>
 *   <li>If every rank's vector lies in its window, rank {@code r} reduces segment {@code r} of all
 *       vectors and writes the result to all of them: one pass, no copy.
 *   <li>If none does and they are small, all are copied to stages, and every rank reduces all of
 *       them: one barrier instead of two.
 *   <li>Otherwise vectors pass through the stages in chunks. While a chunk is reduced the next is
 *       filled, and one barrier per chunk says both that it is reduced and that the next is there.
 *       A vector that does lie in a window is read from there.
 * </ul>
 *
 * <p>Stages are used in turn. A stage is written again three turns later; by then every rank has
 * come to a later barrier than the one before which it read it.
 */
final class IslandReduce {
  /** Up to this size every rank reduces whole vectors that were copied. */
  private static final long SMALL_BYTES = 16 << 10;

  /** The third word of a rank whose vector is not in its window. */
  private static final long STAGED = -1;

  private final HostGroup island;
  private final HostBarrier barrier;
  private final MemorySegment memory;
  private final Operands operands;
  private final Operands targets;

  /** Where each member's vector is in the shared memory, or {@link #STAGED}. */
  private final long[] places;

  private int turn;

  IslandReduce(RankPeers peers, HostBarrier barrier) {
    this.island = peers.island();
    this.barrier = barrier;
    this.memory = island.memory();
    this.operands = new Operands(island.size());
    this.targets = new Operands(island.size());
    this.places = new long[island.size()];
  }

  void reduce(AllReduceCall r) {
    if (!island.isWhole()) {
      barrier.await();
    }
    long here = island.offsetOf(r.data().asSlice(0, r.bytes()));
    if (here == STAGED) {
      fill(r, 0, turn);
    }
    barrier.await(r.envelope(), here);
    int staged = 0;
    for (int m = 0; m < places.length; m++) {
      places[m] = m == island.me() ? here : barrier.wordOf(m);
      staged += places[m] == STAGED ? 1 : 0;
    }
    if (staged == 0) {
      reduceInPlace(r);
    } else if (staged == places.length && r.bytes() <= SMALL_BYTES) {
      reduceWhole(r);
    } else {
      reduceInChunks(r);
    }
    if (!island.isWhole()) {
      barrier.await();
    }
  }

  private void reduceWhole(AllReduceCall r) {
    operands.clear();
    for (int m = 0; m < island.size(); m++) {
      operands.add(memory, island.stageAt(m, turn));
    }
    targets.clear().add(r.data(), 0);
    r.reducer().chain(operands, targets, r.bytes(), island.size());
    turn = (turn + 1) % HostGroup.STAGES;
  }

  private void reduceInPlace(AllReduceCall r) {
    long from = VectorParts.bound(r.bytes(), island.size(), island.me());
    long to = VectorParts.bound(r.bytes(), island.size(), island.me() + 1);
    operands.clear();
    targets.clear();
    for (long place : places) {
      operands.add(memory, place + from);
      targets.add(memory, place + from);
    }
    r.reducer().chain(operands, targets, to - from, island.size());
    barrier.await();
  }

  private void reduceInChunks(AllReduceCall r) {
    for (long at = 0; at < r.bytes(); at += HostGroup.STAGE_BYTES) {
      int stage = turn;
      turn = (turn + 1) % HostGroup.STAGES;
      reduceChunk(r, at, stage);
      if (places[island.me()] == STAGED) {
        fill(r, at + HostGroup.STAGE_BYTES, turn);
      }
      barrier.await();
      empty(r, at, stage);
    }
  }

  /** Copies the chunk at {@code at} to this rank's stage. */
  private void fill(AllReduceCall r, long at, int stage) {
    long bytes = chunkBytes(r, at);
    if (bytes > 0) {
      MemorySegment.copy(r.data(), at, memory, island.stageAt(island.me(), stage), bytes);
    }
  }

  /** Reduces this rank's segment of a chunk into its own stage. */
  private void reduceChunk(AllReduceCall r, long at, int stage) {
    long bytes = chunkBytes(r, at);
    int me = island.me();
    long from = VectorParts.bound(bytes, island.size(), me);
    long to = VectorParts.bound(bytes, island.size(), me + 1);
    operands.clear();
    for (int m = 0; m < places.length; m++) {
      operands.add(
          memory, (places[m] == STAGED ? island.stageAt(m, stage) : places[m] + at) + from);
    }
    // Through the first operand's place nobody else reads this segment, so it may hold the result
    // until it is complete; then it goes to this rank's own stage, where the others look for it.
    targets.clear().add(memory, firstPlace(at, stage) + from);
    if (me != 0 || places[0] != STAGED) {
      targets.add(memory, island.stageAt(me, stage) + from);
    }
    r.reducer().chain(operands, targets, to - from, island.size());
  }

  private long firstPlace(long at, int stage) {
    return places[0] == STAGED ? island.stageAt(0, stage) : places[0] + at;
  }

  /** Collects the segments of a chunk from the stages of those who reduced them. */
  private void empty(AllReduceCall r, long at, int stage) {
    long bytes = chunkBytes(r, at);
    for (int m = 0; m < places.length; m++) {
      long from = VectorParts.bound(bytes, island.size(), m);
      long to = VectorParts.bound(bytes, island.size(), m + 1);
      MemorySegment.copy(memory, island.stageAt(m, stage) + from, r.data(), at + from, to - from);
    }
  }

  private static long chunkBytes(AllReduceCall r, long at) {
    return Math.min(HostGroup.STAGE_BYTES, r.bytes() - at);
  }
}
