package dev.millrace.graph.gradient;

import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Region;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What the gradient of a loop uses in place of the loop's own values. A value of a round is pushed
 * on a stack when the round computes it and popped when the gradient comes to that round; a value
 * of a branch only where that branch was taken. What is the same in all rounds enters the
 * gradient's loop from outside, as it entered the loop.
 *
 * <p>Of a loop within a loop the stacks are made anew in every round of the outer one. They are
 * values of those rounds, and found again by the same means.
 */
final class History {
  private final Loop loop;
  private final Frame forward;
  private final Frame backward;
  private final Frame.Variable count;

  /** Where the gradient's rounds get their ops, without stand-ins. */
  private Scope body;

  private final Map<Output, Output> standIns = new HashMap<>();
  private final List<Node> pushes = new ArrayList<>();
  private final List<Node> pops = new ArrayList<>();

  /** Between {@code loop} and the loop of its gradient. */
  History(Loop loop, Frame backward) {
    this.loop = loop;
    this.backward = backward;
    Scope s = backward.inside().withSubScope("forward");
    this.forward = new Frame(s, loop.name(), loop.parallelIterations());
    Node merge = forward.merge(Sums.constant(entering(s), Tensor.scalar(0)));
    merge.output(0).refineShape(Shape.scalar());
    this.count = forward.variable(merge, loop.condition());
  }

  /** For nodes that run just when the loop is entered. */
  private Scope entering(Scope s) {
    Output anchor = loop.anchor();
    return anchor.region() == Region.TOP
        ? s
        : s.withControlInputs(s.node("Identity").input(anchor).add());
  }

  /** How many rounds the loop had. */
  Output rounds() {
    return count.exit();
  }

  /** Nodes whose inputs may be values of the loop are to be added to the result. */
  Scope recalling(Scope round) {
    body = round.withStandIns(o -> o);
    return round.withStandIns(this::standIn);
  }

  private Output standIn(Output v) {
    if (v.region().isInLoop(backward.name())) {
      return v;
    }
    Output known = standIns.get(v);
    if (known == null) {
      known = recalled(v);
      standIns.put(v, known);
    }
    return known;
  }

  private Output recalled(Output v) {
    Node n = v.node();
    if (!loop.name().equals(v.region().loopName())) {
      return backward.enter(v, true);
    }
    if (n.op().role() == Op.Role.ENTER && n.booleanAttr("is_constant")) {
      return standIn(n.input(0));
    }
    if (n.op().name().equals("Const")) {
      return Sums.constant(body, n.tensorAttr("value"));
    }
    return popped(v);
  }

  private Output popped(Output v) {
    Output stack = pushed(v);
    Output handle = standIn(stack);
    Region branch = branchOf(v);
    Scope s = body.colocatedWith(stack.node());
    if (branch != null) {
      Output taken = standIn(branch.predicate());
      handle = s.node("Switch").input(handle).input(taken).add().output(branch.side());
    }
    Node pop = s.node("StackPopV2").input(handle).attr("elem_type", v.dtype()).add();
    pops.add(pop);
    pop.output().refineShape(v.shape());
    return pop.output();
  }

  /** The stack that {@code v} is pushed on in every round that computes it. */
  private Output pushed(Output v) {
    Scope s = forward.scope().colocatedWith(v.node());
    Output value = v;
    if (!isOfRound(v.region())) {
      // What the condition computes is there once more than there are rounds.
      value = s.node("Switch").input(v).input(loop.condition()).add().output(1);
    }
    Output stack =
        s.node("StackV2")
            .input(Sums.constant(entering(s), Tensor.scalar(-1)))
            .attr("elem_type", v.dtype())
            .add()
            .output();
    Output handle = new Frame(s, forward.name(), forward.parallelIterations()).enter(stack, true);
    // In the order of the rounds: the counter waits for the pushes of the round before.
    Scope inTurn = s.withControlInputs(count.value().node());
    pushes.add(inTurn.node("StackPushV2").input(handle).input(value).add());
    return stack;
  }

  private boolean isOfRound(Region r) {
    for (; r.kind() != Region.Kind.LOOP; r = r.outer()) {
      if (r.kind() == Region.Kind.ROUND) {
        return true;
      }
    }
    return false;
  }

  /** The innermost branch within the round that {@code v} is computed in, or null. */
  private static Region branchOf(Output v) {
    Region r = v.region();
    return r.kind() == Region.Kind.BRANCH ? r : null;
  }

  /** Completes the counters of both loops: in either, rounds wait for the stacks. */
  void finish(Frame.Variable countdown) {
    forward.count(count, "AddV2", pushes);
    backward.count(countdown, "Sub", pops);
  }
}
