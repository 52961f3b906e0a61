package dev.millrace.ops.array;

import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import java.util.List;

/** Does nothing; a point for control edges to meet. */
public final class NoOp {
  public static final Op OP =
      Op.define("NoOp")
          .runsOnAnyDevice()
          .shape(Shapes.none())
          .kernel(c -> {})
          .noGradient("it has no inputs")
          .build();

  private NoOp() {}

  /** A node that has run once all of {@code nodes} have. */
  public static Node group(Scope scope, List<Node> nodes) {
    return scope.withControlInputs(nodes).add(OP);
  }
}
