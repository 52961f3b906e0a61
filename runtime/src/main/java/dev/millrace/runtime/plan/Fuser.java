package dev.millrace.runtime.plan;

import dev.millrace.graph.Fusion;
import dev.millrace.graph.Fusion.Fused;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;

/**
 * Replaces groups of nodes by single ones, as the registry's {@link Fusion fusions} say. A group
 * becomes one node at the place of its last: that waits for all that any of the group has waited
 * for, and all that has waited for one of the group waits for it. Groups for which that would be a
 * cycle are left alone, and so are graphs with loops.
 */
public final class Fuser {
  private final List<Node> nodes;

  /** The inputs that read each node's outputs. */
  private final List<List<Node>> readers = new ArrayList<>();

  /** What stands for a node, by its id; null where it stands for itself. */
  private final Fused[] fused;

  /** The last node of the group each node is in; the node itself where it is in none. */
  private final int[] unit;

  private final Graph out;

  private Fuser(Graph source) {
    this.nodes = source.nodes();
    this.fused = new Fused[nodes.size()];
    this.unit = new int[nodes.size()];
    this.out = new Graph(source.registry());
    for (Node n : nodes) {
      unit[n.id()] = n.id();
      readers.add(new ArrayList<>(2));
      n.inputs().forEach(in -> readers.get(in.node().id()).add(n));
    }
  }

  /** A graph that computes the same with fewer nodes; {@code source} itself if there are none. */
  public static Graph fuse(Graph source) {
    List<Fusion> fusions = source.registry().fusions();
    for (Node n : source.nodes()) {
      if (fusions.isEmpty() || n.op().role() == Op.Role.ENTER) {
        return source;
      }
    }
    Fuser f = new Fuser(source);
    boolean any = false;
    for (int i = f.nodes.size() - 1; i >= 0; i--) {
      any |= f.fuseAt(f.nodes.get(i), fusions);
    }
    return any ? f.rebuild() : source;
  }

  private boolean fuseAt(Node last, List<Fusion> fusions) {
    if (unit[last.id()] != last.id()) {
      return false;
    }
    for (Fusion fusion : fusions) {
      Fused f = fusion.match(last, n -> readers.get(n.id()));
      if (f != null && isAllowed(last, f)) {
        fused[last.id()] = f;
        f.absorbed().forEach(n -> unit[n.id()] = last.id());
        return true;
      }
    }
    return false;
  }

  private boolean isAllowed(Node last, Fused f) {
    Set<Node> group = new HashSet<>(f.absorbed());
    group.add(last);
    for (Node n : f.absorbed()) {
      if (unit[n.id()] != n.id()
          || fused[n.id()] != null
          || !n.device().equals(last.device())
          || !isHidden(n, group, f.exposed())) {
        return false;
      }
    }
    return !reachesBack(group);
  }

  /** Whether those outside the group read nothing of {@code n} but what is exposed. */
  private boolean isHidden(Node n, Set<Node> group, List<Output> exposed) {
    for (Node reader : readers.get(n.id())) {
      if (!group.contains(reader)) {
        for (Output in : reader.inputs()) {
          if (in.node() == n && !exposed.contains(in)) {
            return false;
          }
        }
      }
    }
    return true;
  }

  /** Whether something the group needs, other than itself, needs one of the group. */
  private boolean reachesBack(Set<Node> group) {
    boolean[] seen = new boolean[nodes.size()];
    Deque<Node> open = new ArrayDeque<>();
    for (Node n : group) {
      before(n).stream().filter(b -> !group.contains(b)).forEach(open::push);
    }
    while (!open.isEmpty()) {
      Node n = open.pop();
      if (group.contains(n)) {
        return true;
      }
      int u = unit[n.id()];
      if (!seen[u]) {
        seen[u] = true;
        membersOf(u).forEach(m -> before(m).forEach(open::push));
      }
    }
    return false;
  }

  private static List<Node> before(Node n) {
    List<Node> all = new ArrayList<>(n.controlInputs());
    n.inputs().forEach(in -> all.add(in.node()));
    return all;
  }

  private List<Node> membersOf(int u) {
    List<Node> all = new ArrayList<>(List.of(nodes.get(u)));
    if (fused[u] != null) {
      all.addAll(fused[u].absorbed());
    }
    return all;
  }

  /** Units in an order in which each follows what it needs, otherwise as they were. */
  private List<Integer> order() {
    int[] pending = new int[nodes.size()];
    List<Set<Integer>> followers = new ArrayList<>();
    nodes.forEach(_ -> followers.add(new LinkedHashSet<>()));
    for (Node n : nodes) {
      for (Node b : before(n)) {
        int from = unit[b.id()];
        int to = unit[n.id()];
        if (from != to && followers.get(from).add(to)) {
          pending[to]++;
        }
      }
    }
    PriorityQueue<Integer> ready = new PriorityQueue<>();
    for (Node n : nodes) {
      if (unit[n.id()] == n.id() && pending[n.id()] == 0) {
        ready.add(n.id());
      }
    }
    List<Integer> order = new ArrayList<>();
    while (!ready.isEmpty()) {
      int u = ready.poll();
      order.add(u);
      for (int next : followers.get(u)) {
        if (--pending[next] == 0) {
          ready.add(next);
        }
      }
    }
    return order;
  }

  private Graph rebuild() {
    Map<Integer, Node> copies = new HashMap<>();
    Map<Output, Output> outputs = new HashMap<>();
    for (int u : order()) {
      Node n = nodes.get(u);
      Fused f = fused[u];
      Set<Node> controls = new LinkedHashSet<>();
      for (Node member : membersOf(u)) {
        for (Node c : member.controlInputs()) {
          if (unit[c.id()] != u) {
            controls.add(copies.get(unit[c.id()]));
          }
        }
      }
      List<Output> inputs = new ArrayList<>();
      for (Output in : f == null ? n.inputs() : f.inputs()) {
        inputs.add(outputs.get(in));
      }
      Node copy =
          out.add(
              n.name(),
              f == null ? n.op() : f.op(),
              n.device(),
              f == null ? n.attrs() : f.attrs(),
              inputs,
              List.copyOf(controls));
      List<Output> stoodFor = new ArrayList<>(n.outputs());
      if (f != null) {
        stoodFor.addAll(f.exposed());
      }
      for (int i = 0; i < stoodFor.size(); i++) {
        Output original = stoodFor.get(i);
        outputs.put(original, copy.output(i));
        if (original.shape().isCompatibleWith(copy.output(i).shape())) {
          copy.output(i).refineShape(original.shape());
        }
      }
      copies.put(u, copy);
    }
    return out;
  }
}
