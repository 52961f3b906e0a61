package dev.millrace.collective.algorithm;

import dev.millrace.collective.peers.RankPeers;
import dev.millrace.collective.reduce.Reducer;
import java.lang.foreign.MemorySegment;

/**
 * All-reduce of large vectors between ranks that are all on hosts of their own, around a ring. Each
 * part starts at the rank after its owner and travels on, every rank adding its own values, until
 * the owner completes it; then it travels around once more as the result. Both rounds are one
 * stream through a {@link RingPipeline}, so a rank forwards the first bytes of a part long before
 * it has the last.
 *
 * <p>See P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations", 2009.
 */
final class RingReduce {
  private final RankPeers peers;
  private final RingPipeline relay;

  RingReduce(RankPeers peers, RingPipeline relay) {
    this.peers = peers;
    this.relay = relay;
  }

  void reduce(AllReduceCall r) {
    run(r, true);
  }

  /** Only the first round: afterwards part {@code rank} is complete, the others are undefined. */
  void reduceScatter(AllReduceCall r) {
    run(r, false);
  }

  private void run(AllReduceCall r, boolean gather) {
    int size = peers.size();
    int me = peers.rank();
    relay.over(r.data(), before(me, 1), (me + 1) % size);
    for (int i = 1; i < size; i++) {
      out(r, before(me, i));
      int part = before(me, i + 1);
      relay.merging(r.bounds()[part], r.partBytes(part));
    }
    for (int i = 0; gather && i < size - 1; i++) {
      out(r, before(me, i));
      int part = before(me, i + 1);
      relay.in(r.bounds()[part], r.partBytes(part));
    }
    Reducer reducer = r.reducer();
    RingPipeline.Merge merge =
        new RingPipeline.Merge() {
          @Override
          public void start(long at, long bytes) {}

          @Override
          public void merge(MemorySegment incoming, long at, long bytes, boolean last) {
            reducer.apply(incoming, 0, r.data(), at, r.data(), at, bytes);
            if (last) {
              reducer.finish(r.data(), at, bytes, size);
            }
          }
        };
    relay.run(r.partBytes(before(me, 1)), merge, reducer.elementBytes(), r.envelope());
  }

  private void out(AllReduceCall r, int part) {
    relay.out(r.bounds()[part], r.partBytes(part));
  }

  private int before(int rank, int steps) {
    return Math.floorMod(rank - steps, peers.size());
  }
}
