package dev.millrace.runtime.plan;

import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.tensor.DType;
import java.util.List;

/**
 * The devices of placed nodes once those that only pass a value on have moved to where that costs
 * least, as TensorFlow has it: Switch and Exit to what they read, Enter and NextIteration to what
 * reads them. No edge back into a loop's Merge crosses devices then.
 */
final class ControlFlowDevices {
  private ControlFlowDevices() {}

  /** The device of each node, by its id. */
  static String[] of(List<Node> nodes) {
    String[] devices = new String[nodes.size()];
    Node[] reader = new Node[nodes.size()];
    for (Node n : nodes) {
      devices[n.id()] = n.device();
      for (Output in : n.inputs()) {
        if (reader[in.node().id()] == null) {
          reader[in.node().id()] = n;
        }
      }
    }
    for (Node n : nodes) {
      Op.Role role = n.op().role();
      if ((role == Op.Role.SWITCH || role == Op.Role.EXIT) && isMovable(n)) {
        devices[n.id()] = devices[n.input(0).node().id()];
      }
    }
    for (Node n : nodes.reversed()) {
      Op.Role role = n.op().role();
      if ((role == Op.Role.ENTER || role == Op.Role.NEXT_ITERATION)
          && isMovable(n)
          && reader[n.id()] != null) {
        devices[n.id()] = devices[reader[n.id()].id()];
      }
    }
    return devices;
  }

  /** A reference or a resource cannot leave its device. */
  private static boolean isMovable(Node n) {
    return !n.output(0).isRef() && n.output(0).dtype() != DType.RESOURCE;
  }
}
