package dev.millrace.collective.algorithm;

import dev.millrace.collective.peers.RankPeers;
import java.lang.foreign.MemorySegment;

/**
 * All-reduce between two ranks: each sends the other its whole vector, in one go, and adds what
 * arrives, block by block while it is in the cache. Between two ranks no other way moves fewer
 * bytes, and this one never waits for the other's sums.
 *
 * <p>What is added is overwritten, so nothing is added that has not gone out. That cannot lock up:
 * of two ranks that both hold a block back, each would have had to get more than the other has
 * sent.
 */
final class PairExchange implements PendingWait {
  /** What is taken in at once: small enough to be still in the second cache when it is added. */
  static final long BLOCK_BYTES = 256 << 10;

  /** Up to this size a vector is copied behind its envelope: cheaper than to send it alone. */
  private static final long COPIED_BYTES = 128 << 10;

  private static final long LINE = 64;

  /** Where the vector begins in the memory of both directions: behind the envelope. */
  private static final long DATA_AT = LINE;

  private final RankPeers peers;
  private final RankWait patience;
  private final Scratch scratch;

  private AllReduceCall r;
  private int other;

  /** The envelope, and for a small vector the vector behind it. */
  private MemorySegment message;

  /** What has come and is not yet added. */
  private MemorySegment block;

  /** Bytes of the vector that have gone; less than 0 while the envelope has not. */
  private long sent;

  /** Bytes of the vector that are added. */
  private long added;

  /** Bytes of the vector in {@link #block}; less than 0 while the envelope has not come. */
  private long held;

  PairExchange(RankPeers peers, RankWait patience, Scratch scratch) {
    this.peers = peers;
    this.patience = patience;
    this.scratch = scratch;
  }

  @SuppressWarnings("ShortCircuitBoolean") // Both directions are to move.
  void reduce(AllReduceCall reduction) {
    r = reduction;
    other = 1 - peers.rank();
    long copied = r.bytes() <= COPIED_BYTES ? r.bytes() : 0;
    MemorySegment memory = scratch.atLeast(DATA_AT + BLOCK_BYTES + DATA_AT + copied);
    block = memory;
    message = memory.asSlice(DATA_AT + BLOCK_BYTES);
    r.envelope().write(message, DATA_AT - Envelope.BYTES);
    MemorySegment.copy(r.data(), 0, message, DATA_AT, copied);
    sent = -Envelope.BYTES;
    held = -Envelope.BYTES;
    added = 0;
    patience.renew();
    while (sent < r.bytes() || added < r.bytes() || held < 0) {
      if (push() | pull()) {
        patience.renew();
      } else {
        patience.pause(this);
      }
    }
  }

  private boolean isCopied() {
    return r.bytes() <= COPIED_BYTES;
  }

  /** Sends what is left. Returns whether anything went. */
  private boolean push() {
    if (sent == r.bytes()) {
      return false;
    }
    long n =
        isCopied()
            ? peers.send(other, message, DATA_AT + sent, r.bytes() - sent)
            : sent < 0
                ? peers.send(
                    other, message.asSlice(DATA_AT + sent, -sent), r.data().asSlice(0, r.bytes()))
                : peers.send(other, r.data(), sent, r.bytes() - sent);
    sent += n;
    return n > 0;
  }

  /** Takes in what has come and adds what may be added. Returns whether anything happened. */
  private boolean pull() {
    long room = Math.min(BLOCK_BYTES, r.bytes() - added) - held;
    long n = room == 0 ? 0 : peers.receive(other, block, DATA_AT + held, room);
    boolean begins = held < 0;
    held += n;
    if (held < 0 || n == 0 && held == 0) {
      return n > 0;
    }
    if (begins) {
      check();
    }
    long ready = Math.min(held, isCopied() ? r.bytes() : sent - added);
    if (added + ready < r.bytes()) {
      // Streams may break anywhere; whole lines are whole elements, and begin aligned.
      ready = Math.max(0, ready) / LINE * LINE;
    }
    if (ready > 0) {
      add(ready);
      MemorySegment.copy(block, DATA_AT + ready, block, DATA_AT, held - ready);
      held -= ready;
      added += ready;
    }
    return n > 0 || ready > 0;
  }

  private void check() {
    Envelope found = Envelope.read(block, DATA_AT - Envelope.BYTES);
    if (!found.equals(r.envelope())) {
      throw peers.liveness().fail(r.envelope().mismatch(peers.rank(), found, other));
    }
  }

  /** Adds the first bytes of the block, in each part in the order that is fixed for it. */
  private void add(long bytes) {
    MemorySegment data = r.data();
    for (int part = 0; part < r.parts(); part++) {
      long from = Math.max(added, r.bounds()[part]);
      long n = Math.min(added + bytes, r.bounds()[part + 1]) - from;
      if (n > 0) {
        long at = DATA_AT + from - added;
        if (peers.topology().first(part) == other) {
          r.reducer().apply(block, at, data, from, data, from, n);
        } else {
          r.reducer().apply(data, from, block, at, data, from, n);
        }
        r.reducer().finish(data, from, n, 2);
      }
    }
  }

  @Override
  public boolean waitsFor(int rank) {
    return rank == other;
  }

  @Override
  public String missing() {
    String who = peers.describe(other);
    String coming =
        held < 0
            ? who + " to begin"
            : added + held < r.bytes()
                ? who + " to send " + (r.bytes() - added - held) + " of " + r.bytes() + " bytes"
                : "";
    String going =
        sent < r.bytes()
            ? who + " to take " + (r.bytes() - sent) + " of " + r.bytes() + " bytes"
            : "";
    return coming.isEmpty() ? going : going.isEmpty() ? coming : coming + " and " + going;
  }
}
