package dev.millrace.runtime.plan;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Drops from a graph without loops what is computed and then read by nobody, such as the gradient
 * of a training step's input: TensorFlow's gradients keep it alive by a control edge alone. What
 * waited for a dropped node waits for its inputs instead, so the order of effects stays as it was.
 *
 * <p>Nodes that only hand on a value or only gather control edges go too, where that adds no edges.
 * Whatever has an effect, or decides which nodes are dead, stays.
 */
final class UnreadValues {
  private final Graph source;
  private final Set<String> targets;
  private final List<Node> nodes;
  private final boolean[] kept;

  /** How many nodes wait for this one without reading it. */
  private final int[] waiters;

  /** How many inputs read an output of this one. */
  private final int[] readers;

  private final Graph out;
  private final Map<Output, Output> moved = new HashMap<>();

  /** What readers of an output must wait for because a passage to it has waited. */
  private final Map<Output, Set<Node>> carried = new HashMap<>();

  /** The nodes of the new graph that take a node's place as a control input. */
  private final List<Set<Node>> after = new ArrayList<>();

  private UnreadValues(Graph source, Set<String> targets) {
    this.source = source;
    this.targets = targets;
    this.nodes = source.nodes();
    this.kept = new boolean[nodes.size()];
    this.waiters = new int[nodes.size()];
    this.readers = new int[nodes.size()];
    this.out = new Graph(source.registry());
  }

  /** A graph that has the same effects; nodes called as {@code targets} say stay in any case. */
  static Graph drop(Graph source, Set<String> targets) {
    UnreadValues u = new UnreadValues(source, targets);
    u.decide();
    for (Node n : u.nodes) {
      u.move(n);
    }
    return u.out;
  }

  /** Backwards, so that all readers of a node are decided before it. */
  private void decide() {
    for (int i = nodes.size() - 1; i >= 0; i--) {
      Node n = nodes.get(i);
      kept[i] = readers[i] > 0 || !isDroppable(n);
      int[] count = kept[i] ? readers : waiters;
      n.inputs().forEach(in -> count[in.node().id()]++);
      n.controlInputs().forEach(c -> waiters[c.id()]++);
    }
  }

  private boolean isDroppable(Node n) {
    return n.op().role() == Op.Role.ORDINARY
        && !n.op().isStateful()
        && !n.op().isAsync()
        && !targets.contains(n.name())
        && n.outputs().stream().noneMatch(Output::isRef)
        && n.inputs().stream().noneMatch(in -> in.isRef() || mayBeDeadAlone(in.node()));
  }

  /** Whether an output can be dead without the node being so: its waiters would not notice. */
  private static boolean mayBeDeadAlone(Node n) {
    return n.op().role() == Op.Role.SWITCH || n.op().role() == Op.Role.RECV;
  }

  private void move(Node n) {
    Set<Node> before = new LinkedHashSet<>();
    n.controlInputs().forEach(c -> before.addAll(after.get(c.id())));
    if (!kept[n.id()]) {
      n.inputs().forEach(in -> before.addAll(after.get(in.node().id())));
      n.inputs().forEach(in -> before.addAll(carried.getOrDefault(in, Set.of())));
      int edges = before.size() * waiters[n.id()];
      after.add(edges > before.size() + waiters[n.id()] ? gathered(n, before) : before);
    } else if (isPassage(n, before)) {
      Output from = n.input(0);
      Output value = moved.get(from);
      before.addAll(carried.getOrDefault(from, Set.of()));
      moved.put(n.output(0), value);
      carried.put(n.output(0), before);
      Set<Node> all = new LinkedHashSet<>(before);
      all.addAll(after.get(from.node().id()));
      after.add(all);
    } else {
      Node copy = copy(n, before);
      // A constant has always run; waiting for it means nothing.
      boolean always = Simplifier.isConstant(copy);
      after.add(always ? Set.of() : Set.of(copy));
    }
  }

  /** Whether readers of {@code n} may as well read its input. */
  private boolean isPassage(Node n, Set<Node> before) {
    if (!n.op().name().equals("Identity") || targets.contains(n.name()) || n.input(0).isRef()) {
      return false;
    }
    Node origin = moved.get(n.input(0)).node();
    return origin.device().equals(n.device())
        && (before.isEmpty() || readers[n.id()] == 1)
        && (waiters[n.id()] == 0 || !mayBeDeadAlone(origin));
  }

  private Node copy(Node n, Set<Node> before) {
    List<Output> inputs = new ArrayList<>();
    for (Output in : n.inputs()) {
      inputs.add(moved.get(in));
      before.addAll(carried.getOrDefault(in, Set.of()));
    }
    Node copy = out.add(n.name(), n.op(), n.device(), n.attrs(), inputs, new ArrayList<>(before));
    for (int i = 0; i < n.outputCount(); i++) {
      if (n.output(i).shape().isCompatibleWith(copy.output(i).shape())) {
        copy.output(i).refineShape(n.output(i).shape());
      }
      moved.put(n.output(i), copy.output(i));
    }
    return copy;
  }

  /** One node to wait for instead of many. */
  private Set<Node> gathered(Node n, Set<Node> before) {
    Op noOp = source.registry().find("NoOp");
    return noOp == null
        ? before
        : Set.of(out.add(n.name(), noOp, n.device(), Map.of(), List.of(), new ArrayList<>(before)));
  }
}
