package dev.millrace.ops.state;

import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;

/**
 * Makes reads of a resource variable share its value instead of copying it, even after updates of
 * its rows. TensorFlow's savers run it before they read a variable.
 */
public final class DisableCopyOnRead {
  public static final Op OP =
      Op.define("DisableCopyOnRead")
          .input("resource: resource")
          .stateful()
          .shape(Shapes.none())
          .kernel(c -> VariableKind.RESOURCE.at(c, 0).shareWithReaders())
          .noGradient("it has no outputs")
          .build();

  private DisableCopyOnRead() {}
}
