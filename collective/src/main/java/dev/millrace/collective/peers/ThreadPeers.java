package dev.millrace.collective.peers;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import dev.millrace.collective.member.Liveness;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A job whose ranks are threads of one process, for tests and for trying things out. Which ranks
 * count as sharing a host is up to the caller; those that do have an {@link HostGroup}.
 */
public final class ThreadPeers {
  private ThreadPeers() {}

  /** Every rank on a host of its own. */
  public static List<RankPeers> apart(int size) {
    return of(Topology.apart(size), 0);
  }

  /** All ranks on one host, with this much room for the tensors of each. */
  public static List<RankPeers> together(int size, long windowBytes) {
    return of(Topology.of(Collections.nCopies(size, 0)), windowBytes);
  }

  /** The ranks of such a topology; entry {@code r} is for the thread that is rank {@code r}. */
  public static List<RankPeers> of(Topology topology, long windowBytes) {
    int size = topology.size();
    Joint liveness = new Joint();
    // Links between all, whatever the topology; islands beside them.
    RegionLayout wires = new RegionLayout(size, 0);
    SharedMemory between = SharedMemory.inProcess(wires.totalBytes());
    Map<Integer, SharedMemory> hosts = new TreeMap<>();
    List<RankPeers> peers = new ArrayList<>();
    for (int rank = 0; rank < size; rank++) {
      SharedRegion all = new SharedRegion(wires, between, rank);
      PeerLink[] links = new PeerLink[size];
      for (int other = 0; other < size; other++) {
        links[other] = other == rank ? null : all.link(other);
      }
      HostGroup island = null;
      int locals = topology.localSize(rank);
      if (locals > 1) {
        RegionLayout layout = new RegionLayout(locals, windowBytes);
        SharedMemory memory =
            hosts.computeIfAbsent(
                topology.islandOf(rank), i -> SharedMemory.inProcess(layout.totalBytes()));
        island = HostGroup.of(new SharedRegion(layout, memory, topology.localRank(rank)));
      }
      peers.add(
          new Mesh(
              rank,
              topology,
              links,
              island,
              liveness,
              IdleStrategy.of(size, false),
              Context.current().platform()));
    }
    return peers;
  }

  /** The first failure anybody reports is everybody's. */
  private static final class Joint implements Liveness {
    private final AtomicReference<MillraceException> first = new AtomicReference<>();

    @Override
    public MillraceException failure() {
      return first.get();
    }

    @Override
    public MillraceException fail(MillraceException cause) {
      first.compareAndSet(null, cause);
      return first.get();
    }

    @Override
    public MillraceException lost(int rank, String how) {
      return fail(new MillraceException(Code.UNAVAILABLE, "Lost rank " + rank + ": " + how));
    }

    @Override
    public boolean hasLeft(int rank) {
      return false;
    }
  }
}
