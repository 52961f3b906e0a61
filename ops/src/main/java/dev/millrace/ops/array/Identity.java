package dev.millrace.ops.array;

import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Refs;

/**
 * Its input. Of a reference it gives the variable's tensor itself, so that updates made later in
 * the step show through, as TensorFlow's does.
 */
public final class Identity {
  public static final Op OP =
      Op.define("Identity")
          .attr("T: type")
          .input("input: T")
          .output("output: T")
          .runsOnAnyDevice()
          .shape(Shapes.like(0))
          .kernel(c -> c.output(0, Refs.retain(c.input(0))))
          .gradient(g -> g.pass(0, 0))
          .build();

  private Identity() {}

  /** {@code input} as it is: a name for it, or a copy of it on another device. */
  public static Output of(Scope scope, Output input) {
    return scope.add(OP, input).output();
  }
}
