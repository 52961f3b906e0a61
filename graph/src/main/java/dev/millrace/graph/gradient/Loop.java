package dev.millrace.graph.gradient;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A loop of the graph that gradients are asked for, with the nodes it is held together by. */
final class Loop {
  /** A value that goes from round to round. {@code exit} is null where nobody reads the last. */
  record Variable(Node enter, Node merge, Node test, Node exit, Node next) {
    /** What a round begins with. */
    Output before() {
      return test.output(1);
    }

    /** What it ends with. */
    Output after() {
      return next.input(0);
    }
  }

  private final String name;
  private final List<Node> enters = new ArrayList<>();
  private final List<Variable> variables = new ArrayList<>();
  private Loop outer;
  private Output condition;

  private Loop(String name) {
    this.name = name;
  }

  /** The loops among {@code nodes}, by name. */
  static Map<String, Loop> among(List<Node> nodes) {
    Map<String, Loop> loops = new HashMap<>();
    Map<Node, Node> tests = new HashMap<>();
    Map<Node, Node> exits = new HashMap<>();
    for (Node n : nodes) {
      switch (n.op().role()) {
        case ENTER -> {
          String name = n.region().loopName();
          loops.computeIfAbsent(name, Loop::new).enters.add(n);
        }
        case SWITCH -> {
          if (isTest(n)) {
            loops.get(n.region().loopName()).condition = n.input(1);
            tests.put(n.input(0).node(), n);
          }
        }
        case EXIT -> exits.put(n.input(0).node(), n);
        default -> {}
      }
    }
    for (Loop loop : loops.values()) {
      loop.outer = loops.get(loop.anchor().region().loopName());
    }
    for (Node n : nodes) {
      if (isVariable(n)) {
        Node test = tests.get(n);
        if (test == null) {
          throw MillraceException.invalid(
              "The gradient of a loop was asked for, but its Merge '%s' has no Switch.", n.name());
        }
        loops
            .get(n.region().loopName())
            .variables
            .add(new Variable(n.input(0).node(), n, test, exits.get(test), n.input(1).node()));
      }
    }
    return loops;
  }

  private static boolean isTest(Node n) {
    return n.input(1).node().op().role() == Op.Role.LOOP_COND;
  }

  private static boolean isVariable(Node n) {
    return n.op().role() == Op.Role.MERGE
        && n.inputCount() == 2
        && n.input(1) != null
        && n.input(1).node().op().role() == Op.Role.NEXT_ITERATION
        && n.input(0).node().op().role() == Op.Role.ENTER;
  }

  /** Whether {@code n} holds a loop together rather than being computed in it. */
  static boolean isFrame(Node n) {
    return switch (n.op().role()) {
      case ENTER, EXIT, NEXT_ITERATION, LOOP_COND -> true;
      case SWITCH -> isTest(n);
      case MERGE -> isVariable(n);
      default -> false;
    };
  }

  String name() {
    return name;
  }

  /** The loop around it, or null. */
  Loop outer() {
    return outer;
  }

  List<Variable> variables() {
    return variables;
  }

  /** Whether the loop goes on. */
  Output condition() {
    return condition;
  }

  /** What enters it from outside and is the same in every round. */
  List<Node> constants() {
    return enters.stream().filter(e -> e.booleanAttr("is_constant")).toList();
  }

  List<Node> enters() {
    return enters;
  }

  int parallelIterations() {
    return enters.getFirst().intAttr("parallel_iterations");
  }

  /** A value from outside that is there just when the loop is entered. */
  Output anchor() {
    Output deepest = enters.getFirst().input(0);
    for (Node e : enters) {
      if (e.input(0).region().depth() > deepest.region().depth()) {
        deepest = e.input(0);
      }
    }
    return deepest;
  }
}
