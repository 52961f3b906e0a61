package dev.millrace.ring;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.flow.Switch;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.train.graph.GraphKeys;
import dev.millrace.train.graph.GroupNodes;
import dev.millrace.train.optimizer.GradientAndVariable;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import java.util.ArrayList;
import java.util.List;

/**
 * Adds up the gradients of several backward passes on one rank. A local variable per gradient holds
 * the sum, another counts the passes; what comes after the last of them runs only then, since its
 * inputs are dead in all other passes.
 */
final class PassAccumulator {
  private final int passes;
  private final boolean average;

  PassAccumulator(int passes, boolean average) {
    this.passes = passes;
    this.average = average;
  }

  /**
   * The sums of the gradients of several backward passes.
   *
   * @param pairs the sums, dead in all passes but the last
   * @param sums the variables that hold them
   */
  record Accumulated(List<GradientAndVariable> pairs, List<GraphVariable> sums) {}

  Accumulated add(Scope scope, List<GradientAndVariable> own) {
    VariableScope local =
        VariableScope.of(scope).withTrainable(false).withCollection(GraphKeys.LOCAL_VARIABLES);
    GraphVariable count =
        local.variable(
            scope.prefix() + "passes", DType.INT64, Shape.scalar(), Initializers.zeros());
    Node counted = count.assignAdd(scope.withName("count"), Const.of(scope, 1L));
    Output rest =
        Arithmetic.floorMod(
            scope, count.valueAfter(scope, counted), Const.of(scope, (long) passes));
    Output due = Comparisons.equal(scope.withName("due"), rest, Const.of(scope, 0L));
    List<GradientAndVariable> pairs = new ArrayList<>();
    List<GraphVariable> sums = new ArrayList<>();
    for (GradientAndVariable p : own) {
      Output gradient = dense(scope, p);
      if (gradient == null) {
        pairs.add(p);
        continue;
      }
      GraphVariable v = p.variable();
      GraphVariable sum =
          local
              .withResources(v.isResource())
              .variable(
                  v.name() + "/" + scope.prefix() + "sum",
                  v.dtype(),
                  v.shape(),
                  Initializers.zeros());
      sums.add(sum);
      Node added = sum.assignAdd(scope, gradient);
      Output value = Identity.of(scope, sum.valueAfter(scope, added));
      Output whenDue = Switch.of(scope, value, due).output(1);
      Output out = average ? Arithmetic.scaled(scope, whenDue, 1.0 / passes) : whenDue;
      pairs.add(new GradientAndVariable(new Grad.Dense(out), v));
    }
    return new Accumulated(pairs, sums);
  }

  /** A gradient as one tensor, null if there is none. */
  private static Output dense(Scope scope, GradientAndVariable p) {
    return switch (p.gradient()) {
      case Grad.Dense d -> d.value();
      case Grad.Rows r ->
          scope
              .node("UnsortedSegmentSum")
              .input(r.values())
              .input(r.indices())
              .input(Const.of(scope, (int) p.variable().shape().dim(0)))
              .add()
              .output();
      case Grad.None none -> null;
    };
  }

  /** Adds what sets the sums back once {@code train} has run. */
  Node resetAfter(Scope scope, Node train, Accumulated accumulated) {
    Scope after = scope.withControlInputs(train);
    List<Node> resets = new ArrayList<>();
    for (GraphVariable sum : accumulated.sums()) {
      Output zeros = Const.of(after, sum.dtype(), 0);
      Output dims = Const.dims(after, sum.shape());
      resets.add(sum.assign(after, after.node("Fill").input(dims).input(zeros).add().output()));
    }
    return GroupNodes.of(scope, "train", resets);
  }
}
