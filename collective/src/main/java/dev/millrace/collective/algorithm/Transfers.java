package dev.millrace.collective.algorithm;

import dev.millrace.collective.peers.RankPeers;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Ranges of memory on their way to and from other ranks at the same time, at most one each way per
 * peer. Collect them, then {@link #run}: it returns when all have arrived or been taken.
 */
final class Transfers implements PendingWait {
  private final RankPeers peers;
  private final RankWait patience;
  private final List<Transfer> transfers = new ArrayList<>();
  private int count;

  Transfers(RankPeers peers, RankWait patience) {
    this.peers = peers;
    this.patience = patience;
  }

  /** Adds a range to be sent. */
  Transfers send(int to, MemorySegment data, long at, long bytes) {
    next().set(to, true, data, at, bytes, null);
    return this;
  }

  /** Adds a range to be filled. */
  Transfers receive(int from, MemorySegment into, long at, long bytes) {
    next().set(from, false, into, at, bytes, null);
    return this;
  }

  /** Adds a range to be filled that must begin with this envelope. */
  Transfers receive(int from, MemorySegment into, long at, long bytes, Envelope expected) {
    next().set(from, false, into, at, bytes, expected);
    return this;
  }

  private Transfer next() {
    if (count == transfers.size()) {
      transfers.add(new Transfer());
    }
    return transfers.get(count++);
  }

  /** Moves everything that was added, then forgets it. */
  void run() {
    int open = count;
    patience.renew();
    while (open > 0) {
      boolean moved = false;
      open = 0;
      for (int i = 0; i < count; i++) {
        Transfer t = transfers.get(i);
        if (t.done < t.bytes) {
          moved |= move(t);
          open += t.done < t.bytes ? 1 : 0;
        }
      }
      if (moved) {
        patience.renew();
      } else if (open > 0) {
        patience.pause(this);
      }
    }
    count = 0;
  }

  private boolean move(Transfer t) {
    long n =
        t.sending
            ? peers.send(t.peer, t.memory, t.at + t.done, t.bytes - t.done)
            : peers.receive(t.peer, t.memory, t.at + t.done, t.bytes - t.done);
    t.done += n;
    if (t.expected != null && t.done >= Envelope.BYTES) {
      Envelope found = Envelope.read(t.memory, t.at);
      if (!found.equals(t.expected)) {
        throw peers.liveness().fail(t.expected.mismatch(peers.rank(), found, t.peer));
      }
      t.expected = null;
    }
    return n > 0;
  }

  @Override
  public boolean waitsFor(int rank) {
    return transfers.subList(0, count).stream().anyMatch(t -> t.peer == rank && t.done < t.bytes);
  }

  @Override
  public String missing() {
    StringBuilder s = new StringBuilder();
    for (int i = 0; i < count; i++) {
      Transfer t = transfers.get(i);
      if (t.done < t.bytes) {
        s.append(s.isEmpty() ? "" : " and ")
            .append(peers.describe(t.peer))
            .append(t.sending ? " to take " : " to send ")
            .append(t.bytes - t.done)
            .append(" of ")
            .append(t.bytes)
            .append(" bytes");
      }
    }
    return s.toString();
  }

  private static final class Transfer {
    int peer;
    boolean sending;
    MemorySegment memory;
    long at;
    long bytes;
    long done;
    Envelope expected;

    void set(int peer, boolean sending, MemorySegment memory, long at, long bytes, Envelope e) {
      this.peer = peer;
      this.sending = sending;
      this.memory = memory;
      this.at = at;
      this.bytes = bytes;
      this.done = 0;
      this.expected = e;
    }
  }
}
