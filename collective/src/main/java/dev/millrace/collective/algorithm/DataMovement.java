package dev.millrace.collective.algorithm;

import dev.millrace.collective.peers.RankPeers;
import java.lang.foreign.MemorySegment;

/** The operations that move data between ranks without computing: broadcast, gather, all-to-all. */
final class DataMovement {
  /** Up to this size a broadcast goes down a tree, above along a chain. */
  private static final long TREE_BYTES = 32 << 10;

  private final RankPeers peers;
  private final Transfers transfers;
  private final RingPipeline relay;
  private final Scratch scratch;

  DataMovement(RankPeers peers, Transfers transfers, RingPipeline relay, Scratch scratch) {
    this.peers = peers;
    this.transfers = transfers;
    this.relay = relay;
    this.scratch = scratch;
  }

  void broadcast(MemorySegment data, long bytes, int root, Envelope envelope) {
    if (bytes <= TREE_BYTES) {
      broadcastByTree(data, bytes, root, envelope);
    } else {
      broadcastByChain(data, bytes, root, envelope);
    }
  }

  /** A binomial tree: in round {@code k} each of the ranks that have it sends it to another. */
  private void broadcastByTree(MemorySegment data, long bytes, int root, Envelope envelope) {
    int size = peers.size();
    int place = Math.floorMod(peers.rank() - root, size);
    MemorySegment message = scratch.atLeast(Envelope.BYTES + bytes);
    envelope.write(message, 0);
    int reach = 1;
    if (place == 0) {
      MemorySegment.copy(data, 0, message, Envelope.BYTES, bytes);
    } else {
      reach = Integer.highestOneBit(place);
      transfers.receive((place - reach + root) % size, message, 0, message(bytes), envelope).run();
      MemorySegment.copy(message, Envelope.BYTES, data, 0, bytes);
      reach *= 2;
    }
    for (; place + reach < size; reach *= 2) {
      transfers.send((place + reach + root) % size, message, 0, message(bytes));
    }
    transfers.run();
  }

  private static long message(long bytes) {
    return Envelope.BYTES + bytes;
  }

  /** Each rank passes the bytes on to the next while they arrive. */
  private void broadcastByChain(MemorySegment data, long bytes, int root, Envelope envelope) {
    int size = peers.size();
    int place = Math.floorMod(peers.rank() - root, size);
    boolean first = place == 0;
    boolean last = place == size - 1;
    relay.over(
        data,
        first ? -1 : Math.floorMod(peers.rank() - 1, size),
        last ? -1 : (peers.rank() + 1) % size);
    if (!first) {
      relay.in(0, bytes);
    }
    if (!last) {
      relay.out(0, bytes);
    }
    relay.run(first ? bytes : 0, null, 1, envelope);
  }

  /** Blocks travel around a ring. */
  void allGather(MemorySegment data, long[] bounds, Envelope envelope) {
    int size = peers.size();
    int me = peers.rank();
    relay.over(data, Math.floorMod(me - 1, size), (me + 1) % size);
    for (int i = 0; i < size - 1; i++) {
      int going = Math.floorMod(me - i, size);
      int coming = Math.floorMod(me - i - 1, size);
      relay.out(bounds[going], bounds[going + 1] - bounds[going]);
      relay.in(bounds[coming], bounds[coming + 1] - bounds[coming]);
    }
    relay.run(bounds[me + 1] - bounds[me], null, 1, envelope);
  }

  /** In round {@code k} every rank sends to the k-th after it and hears from the k-th before. */
  void allToAll(
      MemorySegment in, long[] inBounds, MemorySegment out, long[] outBounds, Envelope envelope) {
    int size = peers.size();
    int me = peers.rank();
    MemorySegment.copy(in, inBounds[me], out, outBounds[me], inBounds[me + 1] - inBounds[me]);
    MemorySegment envelopes = scratch.atLeast(2 * Envelope.BYTES);
    for (int k = 1; k < size; k++) {
      int to = (me + k) % size;
      int from = Math.floorMod(me - k, size);
      envelope.write(envelopes, 0);
      transfers
          .send(to, envelopes, 0, Envelope.BYTES)
          .receive(from, envelopes, Envelope.BYTES, Envelope.BYTES, envelope)
          .run();
      transfers
          .send(to, in, inBounds[to], inBounds[to + 1] - inBounds[to])
          .receive(from, out, outBounds[from], outBounds[from + 1] - outBounds[from])
          .run();
    }
  }
}
