package dev.millrace.cluster.master;

import dev.millrace.proto.CostGraphDef;
import dev.millrace.proto.DeviceStepStats;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.NodeDef;
import dev.millrace.proto.NodeExecStats;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Builds TensorFlow's cost graph: how long each node of a step took. */
final class CostGraph {
  private CostGraph() {}

  /** The cost graph of the nodes of {@code partitions}, with their {@code times}. */
  static CostGraphDef of(List<GraphDef> partitions, List<DeviceStepStats> times) {
    Map<String, Long> micros = new HashMap<>();
    for (DeviceStepStats d : times) {
      for (NodeExecStats n : d.getNodeStatsList()) {
        micros.merge(n.getNodeName(), n.getOpEndRelMicros(), Long::sum);
      }
    }
    CostGraphDef.Builder graph = CostGraphDef.newBuilder();
    for (GraphDef partition : partitions) {
      Map<String, Integer> ids = new HashMap<>();
      for (NodeDef n : partition.getNodeList()) {
        ids.put(n.getName(), graph.getNodeCount() + ids.size());
      }
      for (NodeDef n : partition.getNodeList()) {
        graph.addNode(node(n, ids, micros.getOrDefault(n.getName(), 0L)));
      }
    }
    return graph.build();
  }

  private static CostGraphDef.Node node(NodeDef n, Map<String, Integer> ids, long micros) {
    CostGraphDef.Node.Builder b =
        CostGraphDef.Node.newBuilder()
            .setName(n.getName())
            .setDevice(n.getDevice())
            .setId(ids.get(n.getName()))
            .setComputeCost(micros)
            .setComputeTime(micros);
    for (String input : n.getInputList()) {
      if (input.startsWith("^")) {
        b.addControlInput(ids.get(input.substring(1)));
        continue;
      }
      int colon = input.lastIndexOf(':');
      b.addInputInfo(
          CostGraphDef.Node.InputInfo.newBuilder()
              .setPrecedingNode(ids.get(colon < 0 ? input : input.substring(0, colon)))
              .setPrecedingPort(colon < 0 ? 0 : Integer.parseInt(input.substring(colon + 1))));
    }
    return b.build();
  }
}
