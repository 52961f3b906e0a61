package dev.millrace.graph.gradient;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.Tensor;
import java.util.Arrays;
import java.util.List;

/**
 * Adds the nodes that hold a loop together: to a loop of its own, or to one that is in the graph.
 *
 * @param scope where they go; their inputs from outside the loop are what this scope uses for them
 */
record Frame(Scope scope, String name, int parallelIterations) {
  /** A variable of the loop of which the next value is not known yet. */
  record Variable(Node merge, Output exit, Output value) {}

  Output enter(Output data, boolean constant) {
    return scope
        .node("Enter")
        .input(data)
        .attr("frame_name", name)
        .attr("is_constant", constant)
        .attr("parallel_iterations", parallelIterations)
        .add()
        .output();
  }

  /** The start of a variable; {@link #variable} goes on once there is a condition. */
  Node merge(Output start) {
    return inside().node("Merge").inputs(Arrays.asList(enter(start, false), null)).add();
  }

  Variable variable(Node merge, Output condition) {
    Scope s = inside();
    Node test = s.colocatedWith(merge).node("Switch").input(merge.output(0)).input(condition).add();
    return new Variable(
        merge,
        s.node("Exit").input(test.output(0)).add().output(),
        s.node("Identity").input(test.output(1)).add().output());
  }

  void next(Variable v, Output value) {
    Output next = inside().node("NextIteration").input(value).add().output();
    scope.graph().connectBackEdge(v.merge(), 1, next);
  }

  /**
   * A counter's next value: one more or less, once {@code before} have run. They need not all run
   * in every round.
   */
  void count(Variable counter, String op, List<Node> before) {
    Scope s = inside().withControlInputs(counter.value().node());
    Output one = Sums.constant(s, Tensor.scalar(1));
    Scope after =
        before.isEmpty()
            ? s
            : s.withControlInputs(s.withControlInputs(before).node("ControlTrigger").add());
    next(counter, after.node(op).input(counter.value()).input(one).add().output());
  }

  /** Where the nodes within go: they are made of what is within already. */
  Scope inside() {
    return scope.withoutControlInputs().withStandIns(o -> o);
  }
}
