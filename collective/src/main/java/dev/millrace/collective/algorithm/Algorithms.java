package dev.millrace.collective.algorithm;

import dev.millrace.collective.peers.Topology;

/**
 * Which all-reduce is used for which size.
 *
 * @param gatherBytes up to this many bytes arriving at each rank, vectors are gathered whole
 * @param pairBytes up to this size, two ranks exchange their vectors
 * @param directBytes up to this size, parts are exchanged directly; above, around the ring
 */
public record Algorithms(long gatherBytes, long pairBytes, long directBytes) {
  /** What was measured to be best on loopback. */
  public static final Algorithms DEFAULT = new Algorithms(64 << 10, 1 << 20, 256 << 10);

  /** Always the gather. */
  public static final Algorithms GATHER = new Algorithms(Long.MAX_VALUE, -1, 0);

  /** The exchange between two ranks. */
  public static final Algorithms EXCHANGE = new Algorithms(-1, Long.MAX_VALUE, -1);

  /** The direct exchange wherever it can be used. */
  public static final Algorithms DIRECT = new Algorithms(-1, -1, Long.MAX_VALUE);

  /** The ring wherever it can be used. */
  public static final Algorithms RING = new Algorithms(-1, -1, -1);

  Algorithm choose(Topology topology, long bytes) {
    if (topology.islands() == 1 && gatherBytes != Long.MAX_VALUE) {
      return Algorithm.ISLAND;
    }
    if (topology.size() == 2 && bytes <= pairBytes) {
      return Algorithm.EXCHANGE;
    }
    if (bytes == 0 || bytes <= gatherBytes / (topology.size() - 1)) {
      return Algorithm.GATHER;
    }
    if (topology.islands() < topology.size()) {
      return Algorithm.TWO_LEVEL;
    }
    return bytes <= directBytes ? Algorithm.DIRECT : Algorithm.RING;
  }
}
