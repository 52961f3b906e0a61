package dev.millrace.runtime.exec;

import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.name.DeviceSpec;
import java.util.ArrayList;
import java.util.List;

/**
 * What the parts of a step were waiting for when it ended. A part that waits for a tensor of
 * another part is not the reason, unless nothing else waits.
 *
 * <p>Threading: any thread.
 */
public final class AwaitedNodes {
  private static final int SHOWN = 5;

  private final List<String> nodes = new ArrayList<>();
  private final List<String> tensors = new ArrayList<>();

  synchronized void add(Node n) {
    if (n.op().role() == Op.Role.RECV) {
      String source = DeviceSpec.parse(n.stringAttr("send_device")).taskName();
      tensors.add("the tensor '" + n.stringAttr("tensor_name") + "' from " + source);
    } else {
      nodes.add("'" + n.name() + "' on " + DeviceSpec.parse(n.device()).taskName());
    }
  }

  /** Adds what another task says, in the form of {@link #nodes} and {@link #tensors}. */
  public synchronized void addAll(List<String> moreNodes, List<String> moreTensors) {
    nodes.addAll(moreNodes);
    tensors.addAll(moreTensors);
  }

  /** Adds all of {@code other}. */
  public void addAll(AwaitedNodes other) {
    addAll(other.nodes(), other.tensors());
  }

  /** The nodes that waited, each with its task. */
  public synchronized List<String> nodes() {
    return List.copyOf(nodes);
  }

  /** The tensors of other parts that did not come. */
  public synchronized List<String> tensors() {
    return List.copyOf(tensors);
  }

  /** What to tell a user: a few nodes, or tensors where no node waited. */
  public synchronized List<String> reasons() {
    return (nodes.isEmpty() ? tensors : nodes).stream().sorted().distinct().limit(SHOWN).toList();
  }
}
