package dev.millrace.graph.gradient;

import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** One node in a backward pass. */
final class BackwardNode implements GradientContext {
  private final Backward walk;
  private final Node node;
  private final Scope nodeScope;

  /** What was left for each input, in the order of the inputs. */
  private final Map<Integer, Grad> left = new TreeMap<>();

  BackwardNode(Backward walk, Node node, Scope nodeScope) {
    this.walk = walk;
    this.node = node;
    this.nodeScope = nodeScope;
  }

  /**
   * Where a node has several gradients, each is held back until all are there. An update of a
   * reference variable by one of them would else change what another still has to read.
   */
  Map<Integer, Grad> gate() {
    if (left.size() < 2) {
      return left;
    }
    List<Node> all = new ArrayList<>();
    for (Grad g : left.values()) {
      Node n = valueOf(g).node();
      if (!all.contains(n)) {
        all.add(n);
      }
    }
    Scope tuple = nodeScope.withoutColocation().withSubScope("tuple");
    Node together = tuple.withControlInputs(all).withName("group_deps").node("NoOp").add();
    Map<Integer, Grad> gated = new TreeMap<>();
    left.forEach((i, g) -> gated.put(i, gated(tuple.withControlInputs(together), g)));
    return gated;
  }

  private static Output valueOf(Grad g) {
    return switch (g) {
      case Grad.Dense d -> d.value();
      case Grad.Rows r -> r.values();
      case Grad.None n -> throw new IllegalStateException("no gradient was left");
    };
  }

  private static Grad gated(Scope after, Grad g) {
    Output value = valueOf(g);
    Output held =
        after
            .withName("control_dependency")
            .colocatedWith(value.node())
            .node("Identity")
            .input(value)
            .add()
            .output();
    return g instanceof Grad.Rows r
        ? new Grad.Rows(held, r.indices(), r.denseShape())
        : new Grad.Dense(held);
  }

  @Override
  public Scope scope() {
    return nodeScope;
  }

  @Override
  public Node node() {
    return node;
  }

  @Override
  public boolean hasGradient(int i) {
    return walk.hasGradient(node.output(i));
  }

  @Override
  public Output dy(int i) {
    Output out = node.output(i);
    return hasGradient(i)
        ? Sums.dense(walk.scope(), walk.total(out))
        : nodeScope.node("ZerosLike").input(out).add().output();
  }

  @Override
  public void pass(int o, int i) {
    if (hasGradient(o)) {
      left.put(i, walk.total(node.output(o)));
    }
  }

  @Override
  public void dx(int i, Output gradient) {
    left.put(i, new Grad.Dense(nodeScope.standIn(gradient)));
  }

  @Override
  public void dxRows(int i, Output values, Output indices, Output denseShape) {
    left.put(
        i,
        new Grad.Rows(
            nodeScope.standIn(values), nodeScope.standIn(indices), nodeScope.standIn(denseShape)));
  }
}
