package dev.millrace.graph.gradient;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.tensor.DType;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The nodes on some path of values with gradients from an x to a y, and the loops among them. */
final class Paths {
  private final Map<String, Loop> loops;

  /** The loop that ys and xs are in, or null: what is around it plays no part. */
  private final Loop within;

  private final Set<Output> stops;

  /** For each node, the users of its outputs that lead to a y. */
  private final Map<Node, List<Node>> users = new LinkedHashMap<>();

  private final Set<Node> nodes = new HashSet<>();

  Paths(List<Output> ys, List<Output> xs, Set<Output> stops) {
    this.stops = stops;
    this.loops = Loop.among(ys.isEmpty() ? List.of() : ys.getFirst().node().graph().nodes());
    this.within = ys.isEmpty() ? null : loops.get(ys.getFirst().region().loopName());
    ys.forEach(y -> checkPlace(y, ys));
    up(ys);
    down(xs);
    xs.stream().filter(x -> nodes.contains(x.node())).forEach(x -> checkPlace(x, ys));
  }

  private void checkPlace(Output o, List<Output> ys) {
    if (loops.get(o.region().loopName()) != within) {
      throw MillraceException.invalid(
          "The gradient of '%s' with respect to or from '%s' was asked for, but one is inside a"
              + " loop and the other is not. Use what the loop begins with or results in.",
          ys.getFirst().name(), o.name());
    }
  }

  /** Whether gradients go back along a value: a number, or what may hold numbers. */
  static boolean carries(Output o) {
    return o.dtype().isDifferentiable()
        || o.dtype() == DType.RESOURCE
        || o.dtype() == DType.VARIANT;
  }

  /** From the ys to all they depend on. */
  private void up(List<Output> ys) {
    Deque<Node> stack = new ArrayDeque<>();
    for (Output y : ys) {
      if (users.putIfAbsent(y.node(), new ArrayList<>()) == null && !stops.contains(y)) {
        stack.push(y.node());
      }
    }
    Set<Node> expanded = new HashSet<>();
    while (!stack.isEmpty()) {
      Node n = stack.pop();
      if (!expanded.add(n) || (within != null && Loop.isFrame(n) && homeOf(n) == within)) {
        continue;
      }
      for (Output in : n.inputs()) {
        if (in != null && carries(in)) {
          users.computeIfAbsent(in.node(), k -> new ArrayList<>()).add(n);
          if (!stops.contains(in)) {
            stack.push(in.node());
          }
        }
      }
    }
  }

  /** From the xs to those of them that depend on one. */
  private void down(List<Output> xs) {
    Deque<Node> stack = new ArrayDeque<>();
    for (Output x : xs) {
      if (users.containsKey(x.node()) && nodes.add(x.node())) {
        stack.push(x.node());
      }
    }
    while (!stack.isEmpty()) {
      for (Node user : users.get(stack.pop())) {
        if (nodes.add(user)) {
          stack.push(user);
        }
      }
    }
    checkStacks(xs);
  }

  /**
   * What a gradient of a loop takes from its stacks depends on what the loop put there, which no
   * edge tells.
   */
  private void checkStacks(List<Output> xs) {
    Node pop = null;
    for (Node n : users.keySet()) {
      if (n.op().name().equals("StackPopV2") && n.output(0).dtype().isDifferentiable()) {
        pop = n;
      }
    }
    if (pop == null) {
      return;
    }
    Set<Node> reached = new HashSet<>();
    xs.forEach(x -> reached.add(x.node()));
    for (Node n : pop.graph().nodes()) {
      if (n.inputs().stream().anyMatch(in -> in != null && reached.contains(in.node()))) {
        reached.add(n);
        if (n.op().name().equals("StackPushV2")) {
          throw MillraceException.invalid(
              "The gradient of StackPopV2 '%s' was asked for: it is part of the gradient of a"
                  + " loop, and second derivatives of loops are not supported.",
              pop.name());
        }
      }
    }
  }

  boolean contains(Node n) {
    return nodes.contains(n);
  }

  boolean isStop(Output o) {
    return stops.contains(o);
  }

  Loop within() {
    return within;
  }

  /** The loop that {@code n} is in; of what leads into or out of a loop that loop. */
  private Loop homeOf(Node n) {
    return loops.get(
        n.op().role() == Op.Role.EXIT ? n.input(0).region().loopName() : n.region().loopName());
  }

  /**
   * What {@code n} is to someone who sees the nodes of {@code region} and knows a loop in it as a
   * whole: itself, the loop it is in, or null if it is none of this.
   */
  Object unitOf(Node n, Loop region) {
    Loop home = homeOf(n);
    if (home == region) {
      return region != null && Loop.isFrame(n) ? null : n;
    }
    while (home != null && home.outer() != region) {
      home = home.outer();
    }
    return home;
  }

  /** All units of {@code region} on a path, each with those that use it. */
  Map<Object, Set<Object>> units(Loop region) {
    Map<Object, Set<Object>> units = new HashMap<>();
    for (Node n : nodes) {
      Object unit = unitOf(n, region);
      if (unit != null) {
        Set<Object> its = units.computeIfAbsent(unit, k -> new HashSet<>());
        for (Node user : users.get(n)) {
          Object other = nodes.contains(user) ? unitOf(user, region) : null;
          if (other != null && other != unit) {
            its.add(other);
          }
        }
      }
    }
    return units;
  }
}
