package dev.millrace.runtime.plan;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Eager;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Rewrites a placed graph into a smaller one that computes the same: what depends on constants
 * alone is computed once, now; nodes that do the same to the same inputs become one; what nobody
 * reads is dropped. Nodes with state, with control inputs, or in loops are left as they are.
 */
public final class Simplifier {
  private static final long MAX_CONSTANT_BYTES = 10 << 20;

  /** What makes two nodes the same. */
  private record Sameness(
      Op op, String device, Map<String, AttrValue> attrs, List<Output> inputs) {}

  private final Graph out;
  private final Map<Output, Output> moved = new HashMap<>();
  private final Map<Node, Node> movedNodes = new HashMap<>();
  private final Map<Sameness, Node> seen = new HashMap<>();

  private Simplifier(Graph source) {
    this.out = new Graph(source.registry());
  }

  /**
   * A graph with the same Arg, Retval, Send and Recv nodes, those called as {@code targets} say,
   * and fewer others.
   */
  public static Graph simplify(Graph source, Set<String> targets) {
    if (LoopNest.isAnyLoop(source.nodes())) {
      return source;
    }
    Simplifier s = new Simplifier(source);
    for (Node n : source.nodes()) {
      s.move(n);
    }
    return UnreadValues.drop(s.out, targets);
  }

  private void move(Node n) {
    List<Output> inputs = new ArrayList<>();
    for (Output in : n.inputs()) {
      inputs.add(moved.get(in));
    }
    boolean pure =
        !n.op().isStateful()
            && !n.op().isAsync()
            && n.op().role() == Op.Role.ORDINARY
            && n.outputCount() > 0
            && n.controlInputs().isEmpty()
            && inputs.stream().noneMatch(Output::isRef)
            && n.outputs().stream().noneMatch(o -> o.isRef() || o.dtype() == DType.VARIANT);
    if (pure && !inputs.isEmpty() && inputs.stream().allMatch(in -> isConstant(in.node()))) {
      if (fold(n, inputs)) {
        return;
      }
    }
    if (pure) {
      Sameness key = new Sameness(n.op(), n.device(), comparable(n), inputs);
      Node twin = seen.get(key);
      if (twin != null) {
        keep(n, twin);
        return;
      }
      Node copy = copy(n, inputs);
      seen.put(key, copy);
      keep(n, copy);
      return;
    }
    keep(n, copy(n, inputs));
  }

  private static Map<String, AttrValue> comparable(Node n) {
    Map<String, AttrValue> attrs = new HashMap<>(n.attrs());
    attrs.keySet().removeIf(k -> k.startsWith("_"));
    return attrs;
  }

  /** Whether {@code n} has its value before anything runs. */
  public static boolean isConstant(Node n) {
    return n.op().name().equals("Const") && n.controlInputs().isEmpty();
  }

  private Node copy(Node n, List<Output> inputs) {
    List<Node> controls = new ArrayList<>();
    for (Node c : n.controlInputs()) {
      Node to = movedNodes.get(c);
      // A constant has always run; waiting for it means nothing.
      if (!controls.contains(to) && !isConstant(to)) {
        controls.add(to);
      }
    }
    Node copy = out.add(n.name(), n.op(), n.device(), n.attrs(), inputs, controls);
    for (int i = 0; i < n.outputCount(); i++) {
      if (n.output(i).shape().isCompatibleWith(copy.output(i).shape())) {
        copy.output(i).refineShape(n.output(i).shape());
      }
    }
    return copy;
  }

  private void keep(Node n, Node as) {
    movedNodes.put(n, as);
    for (int i = 0; i < n.outputCount(); i++) {
      moved.put(n.output(i), as.output(i));
    }
  }

  /** Computes the node now; says no if it fails or the result is large. */
  private boolean fold(Node n, List<Output> inputs) {
    Tensor[] values = new Tensor[inputs.size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = inputs.get(i).node().tensorAttr("value");
    }
    for (Output o : n.outputs()) {
      if (!o.shape().isKnown()
          || o.shape().elements() * Math.max(1, o.dtype().bytes()) > MAX_CONSTANT_BYTES) {
        return false;
      }
    }
    Tensor[] results;
    try {
      results = Eager.run(n, values);
    } catch (MillraceException e) {
      // The step will report it, with its place, if the node is ever run.
      return false;
    }
    try {
      return replace(n, results);
    } finally {
      Refs.releaseAll(results);
    }
  }

  /** Puts constants in the place of a node's outputs; says no if there is not one for each. */
  private boolean replace(Node n, Tensor[] results) {
    Node first = null;
    for (int i = 0; i < results.length; i++) {
      if (results[i] == null) {
        return false;
      }
      Map<String, AttrValue> attrs = new LinkedHashMap<>();
      attrs.put("value", new AttrValue.Value(results[i]));
      attrs.put("dtype", AttrValue.of(results[i].dtype()));
      String name = i == 0 ? n.name() : n.name() + "/_folded_" + i;
      Node c =
          out.add(name, out.registry().get("Const", name), n.device(), attrs, List.of(), List.of());
      moved.put(n.output(i), c.output(0));
      first = first == null ? c : first;
    }
    movedNodes.put(n, first);
    return true;
  }
}
