package dev.millrace.cluster.collective;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import java.util.TreeSet;

/** The key under which masters that run the same collectives agree on step ids. */
public final class GraphKey {
  /** Of a graph without collectives. */
  public static final long NONE = 0;

  private static final long SEED = 0x8774aa605c729c72L;

  private GraphKey() {}

  /** The key TensorFlow gives a graph with these instance keys; NONE if it has no collectives. */
  public static long of(Graph graph) {
    TreeSet<Integer> instances = new TreeSet<>();
    boolean any = false;
    for (Node n : graph.nodes()) {
      if (isCollective(n.op().name())) {
        any = true;
        if (n.hasAttr("instance_key")) {
          instances.add(n.intAttr("instance_key"));
        }
      }
    }
    if (!any) {
      return NONE;
    }
    long hash = SEED;
    for (long key : instances) {
      hash = key ^ (hash + 0x9e3779b97f4a7800L + (key << 10) + (key >>> 4));
    }
    return hash;
  }

  private static boolean isCollective(String op) {
    return switch (op) {
      case "CollectiveReduce",
          "CollectiveReduceV2",
          "CollectiveGather",
          "CollectiveGatherV2",
          "CollectiveBcastSend",
          "CollectiveBcastSendV2",
          "CollectiveBcastRecv",
          "CollectiveBcastRecvV2" ->
          true;
      default -> false;
    };
  }
}
