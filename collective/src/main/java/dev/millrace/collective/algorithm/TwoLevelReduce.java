package dev.millrace.collective.algorithm;

import dev.millrace.collective.peers.HostGroup;
import dev.millrace.collective.peers.RankPeers;
import dev.millrace.collective.peers.Topology;
import dev.millrace.collective.reduce.Operands;
import java.lang.foreign.MemorySegment;

/**
 * All-reduce between several hosts of which some have several ranks: a ring of hosts, in lanes. In
 * lane {@code l} the ranks with local rank {@code l} of all hosts pass on the {@code l}-th share of
 * every part; on each host that rank adds the values of all ranks there, straight from shared
 * memory and in order of rank. So every byte crosses between two hosts as often as in a ring with
 * one rank per host, over as many connections as there are lanes.
 *
 * <p>It proceeds in slabs, that is, shares of all parts that together fit a rank's stages. A vector
 * that lies in the window is used where it is, and only meets the others slab by slab.
 */
final class TwoLevelReduce implements RingPipeline.Merge {
  /** Bytes of a slab on all ranks. */
  private static final long SLAB_BYTES = HostGroup.STAGES * HostGroup.STAGE_BYTES;

  private final RankPeers peers;
  private final RingPipeline relay;
  private final Topology topology;
  private final int lanes;
  private final int host;

  /** Null, like {@code meeting}, on a host with a single rank. */
  private final HostGroup island;

  private final HostBarrier barrier;

  private final MemorySegment block;
  private final Operands operands;
  private final Operands targets = new Operands(2);

  private AllReduceCall r;

  /**
   * The slab: where its share of each part is in the vector, how long, and the distance in a copy.
   */
  private final long[] from;

  private final long[] length;
  private long stride;

  /** Where each member's vector or its copy of the slab begins, and which of both it is. */
  private final long[] places;

  private final boolean[] inWindow;

  /** {@code meeting} is null on a host with a single rank, {@code block} holds a relay's block. */
  TwoLevelReduce(RankPeers peers, RingPipeline relay, HostBarrier barrier, MemorySegment block) {
    this.peers = peers;
    this.relay = relay;
    this.barrier = barrier;
    this.topology = peers.topology();
    this.lanes = topology.smallestIsland();
    this.host = topology.islandOf(peers.rank());
    this.island = peers.island();
    this.block = block;
    int members = island == null ? 1 : island.size();
    this.operands = new Operands(members + 1);
    this.places = new long[members];
    this.inWindow = new boolean[members];
    this.from = new long[topology.islands()];
    this.length = new long[topology.islands()];
  }

  void reduce(AllReduceCall reduction) {
    r = reduction;
    stride = SLAB_BYTES / r.parts() / 64 * 64;
    long longest = 0;
    for (int p = 0; p < r.parts(); p++) {
      longest = Math.max(longest, r.partBytes(p));
    }
    for (long start = 0; start < longest; start += stride) {
      for (int p = 0; p < r.parts(); p++) {
        from[p] = r.bounds()[p] + start;
        length[p] = Math.clamp(r.partBytes(p) - start, 0, stride);
      }
      if (island == null) {
        runLane(0);
      } else {
        reduceSlab();
      }
    }
  }

  private void reduceSlab() {
    int me = island.me();
    long stage = island.stageAt(me, 0);
    if (!island.isWhole()) {
      barrier.await();
    }
    long here = island.offsetOf(r.data().asSlice(0, r.bytes()));
    if (here < 0) {
      for (int p = 0; p < r.parts(); p++) {
        MemorySegment.copy(r.data(), from[p], island.memory(), stage + p * stride, length[p]);
      }
    }
    long word = here < 0 ? stage << 1 : here << 1 | 1;
    barrier.await(r.envelope(), word);
    for (int m = 0; m < places.length; m++) {
      long theirs = m == me ? word : barrier.wordOf(m);
      places[m] = theirs >> 1;
      inWindow[m] = (theirs & 1) == 1;
    }
    if (me < lanes) {
      runLane(me);
    }
    barrier.await();
    for (int p = 0; p < r.parts(); p++) {
      for (int lane = 0; lane < lanes; lane++) {
        if (lane != me || !inWindow[me]) {
          long at = share(p, lane);
          long bytes = share(p, lane + 1) - at;
          MemorySegment.copy(island.memory(), place(lane, p) + at, r.data(), from[p] + at, bytes);
        }
      }
    }
    barrier.await();
  }

  /** Where the share of a lane begins in the slab's share of a part. */
  private long share(int part, int lane) {
    return VectorParts.bound(length[part], lanes, lane);
  }

  /** Where a member's values of the slab's share of a part begin. */
  private long place(int member, int part) {
    if (island == null) {
      return from[part];
    }
    return places[member] + (inWindow[member] ? from[part] : part * stride);
  }

  /** Passes this lane's shares around the ring of hosts, as {@link RingReduce} does parts. */
  private void runLane(int lane) {
    int hosts = topology.islands();
    int me = island == null ? 0 : island.me();
    relay.over(
        island == null ? r.data() : island.memory(),
        topology.ranks(before(1))[lane],
        topology.ranks((host + 1) % hosts)[lane]);
    for (int i = 1; i < hosts; i++) {
      relay.out(place(me, before(i)) + share(before(i), lane), bytes(before(i), lane));
      relay.merging(
          place(me, before(i + 1)) + share(before(i + 1), lane), bytes(before(i + 1), lane));
    }
    for (int i = 0; i < hosts - 1; i++) {
      relay.out(place(me, before(i)) + share(before(i), lane), bytes(before(i), lane));
      relay.in(place(me, before(i + 1)) + share(before(i + 1), lane), bytes(before(i + 1), lane));
    }
    relay.run(bytes(before(1), lane), this, r.reducer().elementBytes(), r.envelope());
  }

  private long bytes(int part, int lane) {
    return share(part, lane + 1) - share(part, lane);
  }

  private int before(int steps) {
    return Math.floorMod(host - steps, topology.islands());
  }

  @Override
  public void start(long at, long bytes) {
    if (island != null) {
      operands.clear();
      addMembers(at);
      targets.clear().add(block, 0).add(island.memory(), at);
      r.reducer().chain(operands, targets, bytes, 0);
    }
  }

  @Override
  public void merge(MemorySegment incoming, long at, long bytes, boolean last) {
    operands.clear().add(incoming, 0);
    addMembers(at);
    targets.clear().add(incoming, 0).add(island == null ? r.data() : island.memory(), at);
    r.reducer().chain(operands, targets, bytes, last ? peers.size() : 0);
  }

  /** Adds the values of all members that correspond to this rank's own at {@code at}. */
  private void addMembers(long at) {
    if (island == null) {
      operands.add(r.data(), at);
      return;
    }
    int part = 0;
    while (at < place(island.me(), part) || at >= place(island.me(), part) + length[part]) {
      part++;
    }
    long within = at - place(island.me(), part);
    for (int m = 0; m < places.length; m++) {
      operands.add(island.memory(), place(m, part) + within);
    }
  }
}
