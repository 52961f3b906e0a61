package dev.millrace.collective.peers;

import dev.millrace.base.Timers;
import dev.millrace.collective.member.Liveness;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * Some of the ranks, renumbered from 0, over the streams they have already. Works because all
 * operations of a job, on whatever ranks, happen in one order.
 */
final class Subset implements RankPeers {
  private final RankPeers all;
  private final int[] ranks;
  private final int rank;
  private final Topology topology;
  private final HostGroup island;

  Subset(RankPeers all, int[] ranks) {
    this.all = all;
    this.ranks = ranks.clone();
    this.rank = Arrays.binarySearch(ranks, all.rank());
    this.topology = all.topology().of(ranks);
    this.island = islandOf();
  }

  private HostGroup islandOf() {
    if (all.island() == null || topology.localSize(rank) == 1) {
      return null;
    }
    int[] here = topology.ranks(topology.islandOf(rank));
    int[] members = new int[here.length];
    for (int i = 0; i < here.length; i++) {
      members[i] = all.topology().localRank(ranks[here[i]]);
    }
    return all.island().of(members, topology.localRank(rank));
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public Timers timers() {
    return all.timers();
  }

  @Override
  public Topology topology() {
    return topology;
  }

  @Override
  public long send(int to, MemorySegment data, long offset, long length) {
    return all.send(ranks[to], data, offset, length);
  }

  @Override
  public long send(int to, MemorySegment head, MemorySegment data) {
    return all.send(ranks[to], head, data);
  }

  @Override
  public long receive(int from, MemorySegment into, long offset, long length) {
    return all.receive(ranks[from], into, offset, length);
  }

  @Override
  public void park(long nanos) {
    all.park(nanos);
  }

  @Override
  public HostGroup island() {
    return island;
  }

  @Override
  public Liveness liveness() {
    return all.liveness();
  }

  @Override
  public boolean hasLeft(int r) {
    return all.hasLeft(ranks[r]);
  }

  @Override
  public IdleStrategy idling() {
    return all.idling();
  }

  @Override
  public String describe(int r) {
    return all.describe(ranks[r]);
  }

  /** Leaves the streams open: they belong to all ranks. */
  @Override
  public void close() {}
}
