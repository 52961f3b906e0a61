package dev.millrace.cluster.transport;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.GraphDef;

/**
 * Room on the heap for a graph while it is being taken in. A graph that would fill the heap is
 * refused, so that a server does not end of what a client sends.
 *
 * <p>Threading: any thread.
 */
final class HeapRoom implements AutoCloseable {
  /** What a node costs beside its attributes: in the message, the graph, and the plan of a step. */
  private static final long NODE_BYTES = 2000;

  /** What is left free for all else. */
  private static final int SPARE_PERCENT = 10;

  /** What the graphs that are being taken in now need. */
  private static long promised;

  private final long bytes;

  private HeapRoom(long bytes) {
    this.bytes = bytes;
  }

  /** Makes room for a graph; fails with RESOURCE_EXHAUSTED if there is none. */
  static HeapRoom forGraph(GraphDef graph) {
    long need = graph.getNodeCount() * NODE_BYTES + 2L * graph.getSerializedSize();
    synchronized (HeapRoom.class) {
      if (need > left()) {
        // Much of what is used may be garbage, which the next allocation would collect too.
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
      promised += need;
    }
    return new HeapRoom(need);
  }

  private static long left() {
    Runtime r = Runtime.getRuntime();
    long used = r.totalMemory() - r.freeMemory();
    return r.maxMemory() / 100 * (100 - SPARE_PERCENT) - used - promised;
  }

  @Override
  public void close() {
    synchronized (HeapRoom.class) {
      promised -= bytes;
    }
  }
}
