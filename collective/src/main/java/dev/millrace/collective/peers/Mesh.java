package dev.millrace.collective.peers;

import dev.millrace.base.Platform;
import dev.millrace.base.Timers;
import dev.millrace.collective.member.Liveness;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Peers each reached over a link of its own. */
final class Mesh implements RankPeers {
  /** Longest sleep while waiting on memory, which nobody can wake us from. */
  private static final long NAP_NANOS = 50_000;

  private final int rank;
  private final Topology topology;
  private final PeerLink[] links;
  private final List<StreamLink> streams = new ArrayList<>();
  private final HostGroup island;
  private final Liveness liveness;
  private final IdleStrategy idling;
  private final Timers timers;
  private final Selector selector;

  /** {@code links[r]} leads to rank {@code r}; the entry of this rank is null. */
  Mesh(
      int rank,
      Topology topology,
      PeerLink[] links,
      HostGroup island,
      Liveness liveness,
      IdleStrategy idling,
      Platform platform) {
    this.timers = platform.timers();
    this.rank = rank;
    this.topology = topology;
    this.links = links;
    this.island = island;
    this.liveness = liveness;
    this.idling = idling;
    for (PeerLink link : links) {
      if (link instanceof StreamLink s) {
        streams.add(s);
      }
    }
    try {
      selector = streams.isEmpty() ? null : platform.sockets().openSelector();
      for (StreamLink s : streams) {
        s.register(selector);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public Timers timers() {
    return timers;
  }

  @Override
  public Topology topology() {
    return topology;
  }

  @Override
  public long send(int to, MemorySegment data, long offset, long length) {
    try {
      return links[to].send(data, offset, length);
    } catch (IOException e) {
      throw liveness.lost(to, reason(e));
    }
  }

  @Override
  public long send(int to, MemorySegment head, MemorySegment data) {
    try {
      return links[to].send(head, data);
    } catch (IOException e) {
      throw liveness.lost(to, reason(e));
    }
  }

  @Override
  public long receive(int from, MemorySegment into, long offset, long length) {
    try {
      return links[from].receive(into, offset, length);
    } catch (IOException e) {
      throw liveness.lost(from, reason(e));
    }
  }

  private static String reason(IOException e) {
    return e.getMessage() == null ? e.toString() : e.getMessage();
  }

  @Override
  public void park(long nanos) {
    boolean onStream = false;
    for (StreamLink s : streams) {
      onStream |= s.expressInterest();
    }
    if (!onStream) {
      timers.park(this, Math.min(nanos, NAP_NANOS));
      return;
    }
    try {
      if (streams.size() < links.length - 1) {
        // Bytes may also come through memory, of which the selector knows nothing.
        if (selector.selectNow() == 0) {
          timers.park(this, Math.min(nanos, NAP_NANOS));
        }
      } else {
        selector.select(Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos)));
      }
      selector.selectedKeys().clear();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public HostGroup island() {
    return island;
  }

  @Override
  public Liveness liveness() {
    return liveness;
  }

  @Override
  public boolean hasLeft(int r) {
    return liveness.hasLeft(r);
  }

  @Override
  public IdleStrategy idling() {
    return idling;
  }

  @Override
  public String describe(int r) {
    return "rank " + r + (links[r] == null ? "" : " (" + links[r].where() + ")");
  }

  @Override
  public void close() {
    for (PeerLink link : links) {
      if (link != null) {
        link.close();
      }
    }
    try {
      if (selector != null) {
        selector.close();
      }
    } catch (IOException e) {
      // Nobody is left to tell.
    }
  }
}
