package dev.millrace.collective.testing;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.collective.member.Liveness;
import dev.millrace.collective.peers.Idling;
import dev.millrace.collective.peers.Island;
import dev.millrace.collective.peers.Peers;
import dev.millrace.collective.peers.Topology;
import java.lang.foreign.MemorySegment;

/** Peers of a rank to which something happens after it has moved so many bytes. */
public final class FaultyPeers implements Peers {
  /** What happens. */
  public enum Kind {
    /** The rank is gone; the job learns of it as it would from a closed connection. */
    DEATH,
    /** The rank neither sends nor receives any more, but lives. */
    STANDSTILL
  }

  private final Peers peers;
  private final Kind kind;
  private final long afterBytes;
  private long moved;

  public FaultyPeers(Peers peers, Kind kind, long afterBytes) {
    this.peers = peers;
    this.kind = kind;
    this.afterBytes = afterBytes;
  }

  /** Bytes sent and received so far. */
  public long moved() {
    return moved;
  }

  /** How many of {@code length} bytes may still move. */
  private long allowed(long length) {
    if (moved < afterBytes) {
      return Math.min(length, afterBytes - moved);
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
  public Topology topology() {
    return peers.topology();
  }

  @Override
  public void park(long nanos) {
    peers.park(nanos);
  }

  @Override
  public Island island() {
    return peers.island();
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
  public Idling idling() {
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
