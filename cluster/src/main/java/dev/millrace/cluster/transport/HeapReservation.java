package dev.millrace.cluster.transport;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.GraphDef;

/**
 * Reserves heap for a graph while it is imported. A graph that would fill the heap is refused:
 * otherwise one request could end the server with an OutOfMemoryError.
 *
 * <p>Threading: any thread.
 */
final class HeapReservation implements AutoCloseable {
  /** What a node costs beside its attributes: in the message, the graph, and the plan of a step. */
  private static final long NODE_BYTES = 2000;

  /** The share of the heap that stays free for everything else. */
  private static final int SPARE_PERCENT = 10;

  /** Bytes reserved for graphs being imported now. Guarded by the class. */
  private static long reserved;

  private final long bytes;

  private HeapReservation(long bytes) {
    this.bytes = bytes;
  }

  /** Reserves heap for a graph; fails with RESOURCE_EXHAUSTED if too little is free. */
  static HeapReservation forGraph(GraphDef graph) {
    long need = graph.getNodeCount() * NODE_BYTES + 2L * graph.getSerializedSize();
    synchronized (HeapReservation.class) {
      if (need > left()) {
        // Much of the used heap may be garbage.
        System.gc();
      }
      long left = left();
      if (need > left) {
        throw new MillraceException(
            Code.RESOURCE_EXHAUSTED,
            "A graph of %d nodes needs about %d MB of heap; of the server's %d MB, %d are left."
                    .formatted(
                        graph.getNodeCount(),
                        need >> 20,
                        Runtime.getRuntime().maxMemory() >> 20,
                        Math.max(0, left) >> 20)
                + " Start the server with a larger heap (-Xmx), or close sessions.");
      }
      reserved += need;
    }
    return new HeapReservation(need);
  }

  private static long left() {
    Runtime r = Runtime.getRuntime();
    long used = r.totalMemory() - r.freeMemory();
    return r.maxMemory() / 100 * (100 - SPARE_PERCENT) - used - reserved;
  }

  @Override
  public void close() {
    synchronized (HeapReservation.class) {
      reserved -= bytes;
    }
  }
}
