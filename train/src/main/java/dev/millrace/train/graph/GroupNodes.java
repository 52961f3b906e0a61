package dev.millrace.train.graph;

import dev.millrace.graph.Node;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.NoOp;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A node that has run once several others have. If those are on several devices, one node per
 * device gathers them first, so that a single signal per device crosses the network.
 */
public final class GroupNodes {
  private GroupNodes() {}

  /** Adds the group under {@code name}. */
  public static Node of(Scope scope, String name, List<Node> nodes) {
    return in(scope.withSubScope(name), nodes);
  }

  /** Adds the group under the name of {@code scope} itself. */
  public static Node in(Scope scope, List<Node> nodes) {
    Map<String, List<Node>> byDevice = new TreeMap<>();
    for (Node n : nodes) {
      byDevice.computeIfAbsent(n.device(), d -> new ArrayList<>()).add(n);
    }
    if (byDevice.size() == 1) {
      return NoOp.group(on(scope, byDevice.keySet().iterator().next()).asNode(), nodes);
    }
    List<Node> gathered = new ArrayList<>();
    byDevice.forEach((device, some) -> gathered.add(NoOp.group(on(scope, device), some)));
    return NoOp.group(scope.asNode(), gathered);
  }

  private static Scope on(Scope scope, String device) {
    return device.isEmpty() ? scope : scope.withDevice(device);
  }
}
