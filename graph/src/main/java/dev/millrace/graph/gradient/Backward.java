package dev.millrace.graph.gradient;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;

/**
 * One backward pass through a region: the top of the graph or the body of a loop. A node is
 * processed after all nodes that use it. Then the gradients of its outputs are complete. They are
 * added up, and the op's {@link dev.millrace.graph.Gradient} converts them to gradients of its
 * inputs. A loop in the region is processed as one unit.
 */
final class Backward {
  private final Scope scope;
  private final Paths paths;
  private final Loop region;
  private final boolean colocate;

  /** The gradients collected so far for each output. */
  private final Map<Output, List<Grad>> back = new HashMap<>();

  /** Outputs whose gradients are asked for, with what was found. */
  private final Map<Output, Grad> kept = new HashMap<>();

  /**
   * A pass through {@code region}, or through the top if null; adds gradient ops to {@code scope}.
   */
  Backward(Scope scope, Paths paths, Loop region, boolean colocate) {
    this.scope = scope;
    this.paths = paths;
    this.region = region;
    this.colocate = colocate;
  }

  Scope scope() {
    return scope;
  }

  Paths paths() {
    return paths;
  }

  boolean colocates() {
    return colocate;
  }

  /** Keeps the gradients of these outputs for {@link #gradientOf}. */
  void keep(List<Output> outputs) {
    outputs.forEach(o -> kept.put(o, new Grad.None()));
  }

  /** Takes a gradient of {@code out}; it counts beside those that came before. */
  void add(Output out, Grad g) {
    back.computeIfAbsent(out, o -> new ArrayList<>(2)).add(g);
  }

  /** Takes a gradient for an input if a path leads on from there. */
  void leave(Output in, Grad g) {
    if (paths.contains(in.node())) {
      add(in, g);
    }
  }

  boolean hasGradient(Output out) {
    return back.containsKey(out);
  }

  /** The sum of the gradients of {@code out}, computed once. */
  Grad total(Output out) {
    List<Grad> parts = back.get(out);
    Grad sum = Sums.of(scope, parts);
    parts.clear();
    parts.add(sum);
    return sum;
  }

  /** The gradient of {@code out} after the walk. */
  Grad gradientOf(Output out) {
    Grad found = kept.getOrDefault(out, new Grad.None());
    return found instanceof Grad.None && hasGradient(out) ? total(out) : found;
  }

  void run() {
    Map<Object, Set<Object>> users = paths.units(region);
    Map<Object, Integer> pending = new HashMap<>();
    Map<Object, List<Object>> uses = new HashMap<>();
    users.forEach(
        (unit, by) -> {
          pending.put(unit, by.size());
          by.forEach(user -> uses.computeIfAbsent(user, k -> new ArrayList<>()).add(unit));
        });
    PriorityQueue<Object> ready =
        new PriorityQueue<>(Comparator.comparingInt(Backward::age).reversed());
    users.keySet().stream().filter(unit -> pending.get(unit) == 0).forEach(ready::add);
    while (!ready.isEmpty()) {
      Object unit = ready.poll();
      if (unit instanceof Loop loop) {
        LoopGradient.build(this, loop);
      } else {
        turn((Node) unit);
      }
      for (Object used : uses.getOrDefault(unit, List.of())) {
        if (pending.merge(used, -1, Integer::sum) == 0) {
          ready.add(used);
        }
      }
    }
  }

  /** Among ready nodes, the one added last comes first. */
  private static int age(Object unit) {
    return unit instanceof Loop loop ? loop.variables().getLast().next().id() : ((Node) unit).id();
  }

  private void turn(Node node) {
    Set<Output> stopped = new HashSet<>();
    for (Output out : node.outputs()) {
      if (hasGradient(out) && kept.containsKey(out)) {
        kept.put(out, total(out));
      }
      if (paths.isStop(out)) {
        stopped.add(out);
      }
    }
    stopped.forEach(back::remove);
    boolean leadsOn =
        node.inputs().stream().anyMatch(in -> in != null && paths.contains(in.node()));
    if (!leadsOn
        || node.op().gradient() == null
        || node.outputs().stream().noneMatch(this::hasGradient)) {
      return;
    }
    Scope s = scope.withSubScope(node.name() + "_grad");
    BackwardNode turn = new BackwardNode(this, node, colocate ? s.colocatedWith(node) : s);
    node.op().gradient().build(turn);
    turn.gate().forEach((i, g) -> leave(node.input(i), g));
  }
}
