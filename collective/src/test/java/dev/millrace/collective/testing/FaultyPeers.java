package dev.millrace.collective.testing;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.collective.member.Liveness;
import dev.millrace.collective.peers.HostGroup;
import dev.millrace.collective.peers.IdleStrategy;
import dev.millrace.collective.peers.RankPeers;
import dev.millrace.collective.peers.Topology;
import java.lang.foreign.MemorySegment;
import java.util.Random;

/**
 * Peers of a rank to which something happens after it has moved so many bytes or come so far in
 * shared memory, or whose streams break anywhere.
 */
public final class FaultyPeers implements RankPeers {
  /** What happens. */
  public enum Kind {
    /** The rank is gone; the job learns of it as it would from a closed connection. */
    DEATH,
    /** The rank neither sends nor receives any more, but lives. */
    STANDSTILL
  }

  private final RankPeers peers;
  private final Kind kind;
  private final long afterBytes;

  /** Cuts what may move at once; null leaves it whole. */
  private final Random cuts;

  private final HostGroup island;
  private long moved;
  private long told;

  public FaultyPeers(RankPeers peers, Kind kind, long afterBytes) {
    this(peers, kind, afterBytes, null, Long.MAX_VALUE, () -> {});
  }

  /** Nothing happens but that streams break after any number of bytes. */
  public FaultyPeers(RankPeers peers, Random cuts) {
    this(peers, Kind.DEATH, Long.MAX_VALUE, cuts, Long.MAX_VALUE, () -> {});
  }

  /**
   * {@code fault} is run when this rank has told others so many times that it has come to a meeting
   * in shared memory, and is about to tell one again: in the midst of a barrier, or before one,
   * with its share of the work done. What it throws ends the rank.
   */
  public static FaultyPeers amongMembers(RankPeers peers, long afterTold, Runnable fault) {
    return new FaultyPeers(peers, Kind.DEATH, Long.MAX_VALUE, null, afterTold, fault);
  }

  private FaultyPeers(
      RankPeers peers, Kind kind, long afterBytes, Random cuts, long afterTold, Runnable fault) {
    this.peers = peers;
    this.kind = kind;
    this.afterBytes = afterBytes;
    this.cuts = cuts;
    this.island =
        peers.island() == null ? null : new FaultyIsland(peers.island(), afterTold, fault);
  }

  private final class FaultyIsland extends HostGroup {
    private final long afterTold;
    private final Runnable fault;

    FaultyIsland(HostGroup island, long afterTold, Runnable fault) {
      super(island);
      this.afterTold = afterTold;
      this.fault = fault;
    }

    @Override
    protected void tell(int member, long a, long b, long c) {
      if (told == afterTold) {
        fault.run();
      }
      told++;
      super.tell(member, a, b, c);
    }
  }

  /** How often this rank has told another that it has come to a barrier. */
  public long told() {
    return told;
  }

  /** Bytes sent and received so far. */
  public long moved() {
    return moved;
  }

  /** How many of {@code length} bytes may still move. */
  private long allowed(long length) {
    if (moved < afterBytes) {
      long most = Math.min(length, afterBytes - moved);
      return cuts == null || most == 0 ? most : 1 + cuts.nextLong(Math.min(most, 5_000));
    }
    if (kind == Kind.DEATH) {
      throw peers
          .liveness()
          .fail(new MillraceException(Code.UNAVAILABLE, "Rank " + peers.rank() + " died."));
    }
    return 0;
  }

  @Override
  public long send(int to, MemorySegment data, long offset, long length) {
    long allowed = allowed(length);
    long n = allowed == 0 ? 0 : peers.send(to, data, offset, allowed);
    moved += n;
    return n;
  }

  @Override
  public long receive(int from, MemorySegment into, long offset, long length) {
    long allowed = allowed(length);
    long n = allowed == 0 ? 0 : peers.receive(from, into, offset, allowed);
    moved += n;
    return n;
  }

  @Override
  public int rank() {
    return peers.rank();
  }

  @Override
  public Timers timers() {
    return peers.timers();
  }

  @Override
  public Topology topology() {
    return peers.topology();
  }

  @Override
  public void park(long nanos) {
    peers.park(nanos);
  }

  @Override
  public HostGroup island() {
    return island;
  }

  @Override
  public Liveness liveness() {
    return peers.liveness();
  }

  @Override
  public boolean hasLeft(int rank) {
    return peers.hasLeft(rank);
  }

  @Override
  public IdleStrategy idling() {
    return peers.idling();
  }

  @Override
  public String describe(int rank) {
    return peers.describe(rank);
  }

  @Override
  public void close() {
    peers.close();
  }
}
