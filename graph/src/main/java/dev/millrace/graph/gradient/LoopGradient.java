package dev.millrace.graph.gradient;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/**
 * The gradient of a loop: a loop of as many rounds, from the last to the first. Its variables are
 * the gradients of the loop's variables; one round of it is the gradient of one round. For what is
 * the same in all rounds a variable adds up what each round gives.
 */
final class LoopGradient {
  private final Backward around;
  private final Loop loop;
  private final Frame frame;
  private final History history;

  /** The gradient's loop goes on while this is true. */
  private Output condition;

  private LoopGradient(Backward around, Loop loop) {
    this.around = around;
    this.loop = loop;
    Scope s = around.scope().withSubScope("while_grad");
    this.frame = new Frame(s, s.prefix() + "frame", loop.parallelIterations());
    this.history = new History(loop, frame);
  }

  /** Takes what has come back for the results of {@code loop} to what entered it. */
  static void build(Backward around, Loop loop) {
    List<Loop.Variable> variables = new ArrayList<>();
    boolean wanted = false;
    for (Loop.Variable v : loop.variables()) {
      if (around.paths().contains(v.merge()) && Paths.carries(v.merge().output(0))) {
        variables.add(v);
        wanted |= v.exit() != null && around.hasGradient(v.exit().output());
      }
    }
    if (wanted) {
      new LoopGradient(around, loop).build(variables);
    }
  }

  private void build(List<Loop.Variable> variables) {
    Node countdown = frame.merge(history.rounds());
    countdown.output(0).refineShape(Shape.scalar());
    List<Node> merges = variables.stream().map(this::start).toList();
    Scope s = frame.inside();
    Output one = Sums.constant(s.withControlInputs(countdown), Tensor.scalar(1));
    Output more = s.node("GreaterEqual").input(countdown.output(0)).input(one).add().output();
    condition = s.node("LoopCond").input(more).add().output();
    Frame.Variable left = frame.variable(countdown, condition);
    List<Frame.Variable> grads = merges.stream().map(m -> frame.variable(m, condition)).toList();
    Scope round =
        history.recalling(
            around.scope().withoutControlInputs().withControlInputs(left.value().node()));
    Backward walk = new Backward(round, around.paths(), loop, around.colocates());
    for (int i = 0; i < grads.size(); i++) {
      walk.add(variables.get(i).after(), new Grad.Dense(grads.get(i).value()));
    }
    walk.run();
    for (int i = 0; i < grads.size(); i++) {
      pass(walk, variables.get(i), grads.get(i));
    }
    for (Node c : loop.constants()) {
      if (walk.hasGradient(c.output())) {
        accumulate(walk, c);
      }
    }
    history.finish(left);
  }

  /** The gradient that has come back for what a variable is at the end. */
  private Node start(Loop.Variable v) {
    Output exit = v.exit() == null ? null : v.exit().output();
    Output start;
    if (exit != null && around.hasGradient(exit)) {
      start = Sums.dense(around.scope(), around.total(exit));
    } else {
      start = zeros(exit == null ? v.enter().input(0) : exit);
    }
    Node merge = frame.merge(start);
    merge.output(0).refineShape(v.merge().output(0).shape());
    return merge;
  }

  private Output zeros(Output like) {
    if (like.dtype() == DType.RESOURCE) {
      throw MillraceException.invalid(
          "The gradient of loop '%s' was asked for, but '%s', a resource, changes from round to"
              + " round.",
          loop.name(), like.name());
    }
    return frame.scope().node("ZerosLike").input(like).add().output();
  }

  private void pass(Backward walk, Loop.Variable v, Frame.Variable grad) {
    if (walk.hasGradient(v.merge().output(0))) {
      throw MillraceException.invalid(
          "The gradient of loop '%s' was asked for, but its rounds use '%s' from before its"
              + " condition is known.",
          loop.name(), v.merge().output(0).name());
    }
    Output next =
        walk.hasGradient(v.before())
            ? Sums.dense(walk.scope(), walk.total(v.before()))
            : walk.scope().node("ZerosLike").input(grad.value()).add().output();
    frame.next(grad, next);
    around.leave(v.enter().input(0), new Grad.Dense(grad.exit()));
  }

  private void accumulate(Backward walk, Node constant) {
    Output part = Sums.dense(walk.scope(), walk.total(constant.output()));
    Output whole = constant.input(0);
    if (whole.dtype() == DType.RESOURCE) {
      whole =
          frame
              .scope()
              .node("ReadVariableOp")
              .input(whole)
              .attr("dtype", part.dtype())
              .add()
              .output();
    }
    Node merge = frame.merge(zeros(whole));
    Frame.Variable sum = frame.variable(merge, condition);
    frame.next(sum, walk.scope().node("AddN").inputs(List.of(sum.value(), part)).add().output());
    around.leave(constant.input(0), new Grad.Dense(sum.exit()));
  }
}
