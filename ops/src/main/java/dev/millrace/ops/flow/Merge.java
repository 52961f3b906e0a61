package dev.millrace.ops.flow;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Comparisons;
import dev.millrace.tensor.Shape;
import java.util.List;

/** The first of its inputs that is alive, and which one that was. */
public final class Merge {
  public static final Op OP = define("Merge", "N * T", "T");

  public static final Op REF = define("RefMerge", "Ref(N * T)", "Ref(T)");

  private Merge() {}

  /** Adds a node with output 0 for the value and 1 for the index of the input it came from. */
  public static Node of(Scope scope, List<Output> inputs) {
    return scope.node(OP).inputs(inputs).add();
  }

  private static Op define(String name, String inputs, String output) {
    return Op.define(name)
        .attr("T: type")
        .attr("N: int >= 1")
        .input("inputs: " + inputs)
        .output("output: " + output)
        .output("value_index: int32")
        .role(Op.Role.MERGE)
        .shape(c -> List.of(common(c), Shape.scalar()))
        .kernel(Merge::compute)
        .gradient(Merge::gradient)
        .build();
  }

  /** What is known of the output whichever input it comes from. */
  private static Shape common(ShapeContext c) {
    Shape s = c.input(0);
    for (int i = 1; i < c.inputCount(); i++) {
      Shape other = c.input(i);
      if (!s.hasRank() || s.rank() != other.rank()) {
        return Shape.unknown();
      }
      for (int d = 0; d < s.rank(); d++) {
        s = s.dim(d) == other.dim(d) ? s : s.withDim(d, Shape.UNKNOWN);
      }
    }
    return s;
  }

  private static void compute(KernelContext c) {
    for (int i = 0; i < c.inputCount(); i++) {
      if (!c.isDead(i)) {
        c.forward(0, i);
        c.allocate(1, Shape.scalar()).setLong(0, i);
        return;
      }
    }
    throw new IllegalStateException(c.node() + " was run without a live input");
  }

  /** The gradient goes back only to the input that was taken; to the others it is dead. */
  private static void gradient(GradientContext g) {
    for (int i = 0; i < g.node().inputCount(); i++) {
      if (g.input(i) == null || g.input(i).node().op().role() == Op.Role.NEXT_ITERATION) {
        throw MillraceException.invalid(
            "The gradient of Merge '%s' was asked for, but it is not part of a whole loop. Use"
                + " StopGradient where none is meant.",
            g.node().name());
      }
      Output taken = Comparisons.equal(g.scope(), g.output(1), Const.of(g.scope(), i));
      g.dx(i, Switch.of(g.scope(), g.dy(), taken).output(1));
    }
  }
}
