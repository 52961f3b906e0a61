package dev.millrace.collective.algorithm;

import dev.millrace.collective.peers.RankPeers;
import java.lang.foreign.MemorySegment;

/**
 * Passes a stream of bytes on from one rank to another while it arrives, on the way merging it with
 * this rank's own data or storing it. All pipelined algorithms are this with different pieces.
 *
 * <p>What goes out is, in order, this rank's own first bytes and then every byte that came in, as
 * merged or stored. So a single count governs the pipeline: as much may have gone out as there were
 * own bytes plus bytes dealt with. No chunk numbers, no acknowledgements.
 */
final class RingPipeline implements PendingWait {
  /** Incoming bytes are merged in blocks of up to this size, which stay in the second cache. */
  static final long BLOCK_BYTES = 512 << 10;

  /**
   * Less than this is not sent while more of its piece is to come. Two ranks that send and receive
   * on one connection at the same time hold each other up in the kernel, and where ranks share
   * processors, each sending may cost a change between them.
   */
  private static final long SEND_BYTES = BLOCK_BYTES;

  /** Deals with data on its way. Positions are in the memory the relay works on. */
  interface Merge {
    /** Makes ready a range that nothing comes in for: the begin of this rank's outgoing stream. */
    void start(long at, long bytes);

    /**
     * Combines bytes that came in, at the begin of {@code incoming}, with this rank's own at {@code
     * at}, and stores the result there. {@code last} says that no rank is left to add to it.
     */
    void merge(MemorySegment incoming, long at, long bytes, boolean last);
  }

  private final RankPeers peers;
  private final RankWait patience;
  private final MemorySegment block;
  private final MemorySegment envelopes;

  private final Pieces out = new Pieces();
  private final Pieces in = new Pieces();
  private MemorySegment data;
  private int to;
  private int from;

  /** How many of the incoming pieces are merged; the others are stored. */
  private int merging;

  private Merge merge;
  private int elementBytes;
  private Envelope envelope;

  /** Bytes at the begin of the outgoing stream that do not depend on incoming ones. */
  private long own;

  /** How many of those are ready, and how many incoming bytes were dealt with. */
  private long prepared;

  private long arrived;

  /** Bytes of the outgoing stream that have gone, and that are still to go. */
  private long sent;

  private long outLeft;

  /** Bytes in {@link #block} that are not merged yet. */
  private long held;

  private long envelopeOut;
  private long envelopeIn;

  /** {@code block} must hold {@link #BLOCK_BYTES}, {@code envelopes} two envelopes. */
  RingPipeline(RankPeers peers, RankWait patience, MemorySegment block, MemorySegment envelopes) {
    this.peers = peers;
    this.patience = patience;
    this.block = block;
    this.envelopes = envelopes;
  }

  /** Begins to describe a stream over {@code data}, from one rank and to another; -1 for none. */
  RingPipeline over(MemorySegment data, int from, int to) {
    this.data = data;
    this.from = from;
    this.to = to;
    this.merging = 0;
    out.clear();
    in.clear();
    return this;
  }

  /** The next range to go out. */
  void out(long at, long bytes) {
    out.add(at, bytes);
  }

  /** The next range to come in and be merged. These come before all {@link #in}. */
  void merging(long at, long bytes) {
    in.add(at, bytes);
    merging++;
  }

  /** The next range to come in and be stored. */
  void in(long at, long bytes) {
    in.add(at, bytes);
  }

  /**
   * Runs the stream. The first {@code own} bytes to go out need nothing to come in first, but are
   * made ready by {@code merge} if there is one. {@code envelope} goes ahead and must come ahead.
   */
  @SuppressWarnings("ShortCircuitBoolean") // Both directions are to move.
  void run(long own, Merge merge, int elementBytes, Envelope envelope) {
    this.own = own;
    this.merge = merge;
    this.elementBytes = elementBytes;
    this.envelope = envelope;
    envelope.write(envelopes, 0);
    envelopeOut = to < 0 ? 0 : Envelope.BYTES;
    envelopeIn = from < 0 ? 0 : Envelope.BYTES;
    prepared = merge == null ? own : 0;
    arrived = 0;
    sent = 0;
    outLeft = out.leftOfAll();
    held = 0;
    patience.renew();
    while (outLeft > 0 || envelopeOut > 0 || !in.ended() || envelopeIn > 0) {
      if (push() | pull()) {
        patience.renew();
      } else {
        patience.pause(this);
      }
    }
  }

  /** Sends what may go. Returns whether anything went. */
  private boolean push() {
    if (envelopeOut > 0) {
      long n = peers.send(to, envelopes, Envelope.BYTES - envelopeOut, envelopeOut);
      envelopeOut -= n;
      return n > 0;
    }
    if (outLeft == 0) {
      return false;
    }
    if (prepared < own && prepared - sent < SEND_BYTES) {
      long n = Math.min(BLOCK_BYTES, own - prepared);
      merge.start(out.position() + (prepared - sent), n);
      prepared += n;
    }
    long may = prepared + (prepared == own ? arrived : 0) - sent;
    if (may < Math.min(SEND_BYTES, out.left())) {
      return false;
    }
    long n = peers.send(to, data, out.position(), Math.min(may, out.left()));
    out.advance(n);
    sent += n;
    outLeft -= n;
    return n > 0;
  }

  /** Takes in and deals with what has come. Returns whether anything came. */
  private boolean pull() {
    if (envelopeIn > 0) {
      long n = peers.receive(from, envelopes, 2 * Envelope.BYTES - envelopeIn, envelopeIn);
      envelopeIn -= n;
      if (n > 0 && envelopeIn == 0) {
        check();
      }
      return n > 0;
    }
    if (in.ended()) {
      return false;
    }
    if (in.index() < merging) {
      return pullAndMerge();
    }
    long n = peers.receive(from, data, in.position(), in.left());
    in.advance(n);
    arrived += n;
    return n > 0;
  }

  private boolean pullAndMerge() {
    long n = peers.receive(from, block, held, Math.min(BLOCK_BYTES, in.left()) - held);
    held += n;
    // Streams may break anywhere; only whole elements can be merged.
    long whole = held - held % elementBytes;
    if (n > 0 && whole > 0) {
      merge.merge(block, in.position(), whole, in.index() == merging - 1);
      MemorySegment.copy(block, whole, block, 0, held - whole);
      held -= whole;
      in.advance(whole);
      arrived += whole;
    }
    return n > 0;
  }

  private void check() {
    Envelope found = Envelope.read(envelopes, Envelope.BYTES);
    if (!found.equals(envelope)) {
      throw peers.liveness().fail(envelope.mismatch(peers.rank(), found, from));
    }
  }

  @Override
  public boolean waitsFor(int rank) {
    return rank == from && (envelopeIn > 0 || !in.ended())
        || rank == to && (envelopeOut > 0 || !out.ended());
  }

  @Override
  public String missing() {
    String coming =
        in.ended() ? "" : peers.describe(from) + " to send " + in.leftOfAll() + " bytes";
    String going = out.ended() ? "" : peers.describe(to) + " to take " + out.leftOfAll() + " bytes";
    return coming.isEmpty() ? going : going.isEmpty() ? coming : coming + " and " + going;
  }
}
