package dev.millrace.ops.state;

import dev.millrace.graph.op.Op;
import dev.millrace.graph.op.Shapes;

/**
 * Has the next reads of a resource variable share its value rather than copy it, though rows of it
 * were changed before. TensorFlow's savers ask for it ahead of reading what they write.
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
