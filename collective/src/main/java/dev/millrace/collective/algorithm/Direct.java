package dev.millrace.collective.algorithm;

import dev.millrace.collective.peers.RankPeers;
import dev.millrace.collective.reduce.Operands;
import java.lang.foreign.MemorySegment;

/**
 * All-reduce of middling vectors between ranks that are all on hosts of their own: every rank sends
 * part {@code p} straight to rank {@code p}, which reduces it and sends the result back to all. It
 * moves as many bytes as the ring but takes two hops instead of {@code 2 (ranks - 1)}.
 */
final class Direct {
  private final RankPeers peers;
  private final Transfers transfers;
  private final Scratch scratch;
  private final Operands operands;
  private final Operands target = new Operands(1);

  Direct(RankPeers peers, Transfers transfers, Scratch scratch) {
    this.peers = peers;
    this.transfers = transfers;
    this.scratch = scratch;
    this.operands = new Operands(peers.size());
  }

  void reduce(AllReduceCall r) {
    int size = peers.size();
    int me = peers.rank();
    long[] bounds = r.bounds();
    long mine = r.partBytes(me);
    // Parts go out with an envelope ahead, from a copy; those of others come in behind it.
    long outgoing = r.bytes() + size * Envelope.BYTES;
    long slot = (mine + Envelope.BYTES + 15) / 16 * 16;
    MemorySegment memory = scratch.atLeast(outgoing + size * slot);
    long at = 0;
    for (int i = 1; i < size; i++) {
      int to = (me + i) % size;
      long bytes = r.partBytes(to);
      r.envelope().write(memory, at);
      MemorySegment.copy(r.data(), bounds[to], memory, at + Envelope.BYTES, bytes);
      transfers.send(to, memory, at, bytes + Envelope.BYTES);
      at += bytes + Envelope.BYTES;
    }
    for (int i = 1; i < size; i++) {
      int from = Math.floorMod(me - i, size);
      transfers.receive(from, memory, outgoing + from * slot, mine + Envelope.BYTES, r.envelope());
    }
    transfers.run();
    operands.clear();
    for (int rank : peers.topology().order(me)) {
      if (rank == me) {
        operands.add(r.data(), bounds[me]);
      } else {
        operands.add(memory, outgoing + rank * slot + Envelope.BYTES);
      }
    }
    // This rank comes last in the order of its own part, so the target is its last operand.
    target.clear().add(memory, outgoing + me * slot);
    r.reducer().chain(operands, target, mine, size);
    MemorySegment.copy(memory, outgoing + me * slot, r.data(), bounds[me], mine);
    for (int i = 1; i < size; i++) {
      int to = (me + i) % size;
      int from = Math.floorMod(me - i, size);
      transfers
          .send(to, r.data(), bounds[me], mine)
          .receive(from, r.data(), bounds[from], r.partBytes(from));
    }
    transfers.run();
  }
}
