package dev.millrace.collective.algorithm;

import dev.millrace.collective.peers.RankPeers;
import dev.millrace.collective.peers.Topology;
import dev.millrace.collective.reduce.Operands;
import java.lang.foreign.MemorySegment;

/**
 * Brings small blocks of equal size from every rank to every rank in about log2(ranks) rounds
 * (Bruck's algorithm): in round {@code k} a rank passes on all it has to the rank {@code 2^k}
 * before it. On this stand the barrier, which is a gather of nothing, and the all-reduce of small
 * vectors, where every rank gathers all vectors and reduces them itself.
 */
final class BruckGather {
  private final RankPeers peers;
  private final Transfers transfers;
  private final Scratch scratch;
  private final Operands operands;
  private final Operands target = new Operands(1);

  /** The blocks of the last gather: first this rank's, then the next rank's and so on around. */
  private MemorySegment blocks;

  private long stride;

  BruckGather(RankPeers peers, Transfers transfers, Scratch scratch) {
    this.peers = peers;
    this.transfers = transfers;
    this.scratch = scratch;
    this.operands = new Operands(peers.size());
  }

  /** Gathers {@code bytes} bytes from every rank; see {@link #at}. */
  void run(MemorySegment mine, long bytes, Envelope envelope) {
    int size = peers.size();
    stride = (Envelope.BYTES + bytes + 15) / 16 * 16;
    blocks = scratch.atLeast(size * stride);
    envelope.write(blocks, 0);
    MemorySegment.copy(mine, 0, blocks, Envelope.BYTES, bytes);
    for (int have = 1; have < size; have *= 2) {
      int pass = Math.min(have, size - have);
      int to = Math.floorMod(peers.rank() - have, size);
      int from = (peers.rank() + have) % size;
      transfers
          .send(to, blocks, 0, pass * stride)
          .receive(from, blocks, have * stride, pass * stride, envelope)
          .run();
    }
  }

  /** The memory that holds what was gathered, valid until the next operation. */
  MemorySegment blocks() {
    return blocks;
  }

  /** Where in it the block of {@code rank} begins. */
  long at(int rank) {
    return Math.floorMod(rank - peers.rank(), peers.size()) * stride + Envelope.BYTES;
  }

  /** Gathers the vectors of all ranks and reduces them here, each part in its order of ranks. */
  void reduce(AllReduceCall r) {
    run(r.data(), r.bytes(), r.envelope());
    Topology topology = peers.topology();
    for (int part = 0; part < r.parts(); part++) {
      long from = r.bounds()[part];
      operands.clear();
      for (int rank : topology.order(part)) {
        operands.add(blocks, at(rank) + from);
      }
      target.clear().add(r.data(), from);
      r.reducer().chain(operands, target, r.partBytes(part), peers.size());
    }
  }
}
