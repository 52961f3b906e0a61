package dev.millrace.ops.nn;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.tensor.DType;
import java.util.Set;

/** What kernels of this package compute on, where that is less than the op's signature allows. */
final class Supported {
  private Supported() {}

  /** Refuses a node whose type attribute names a type there is no loop for. */
  static void types(Node node, String attr, Set<DType> types) {
    DType t = node.typeAttr(attr);
    if (!types.contains(t)) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          node.op().name()
              + " '"
              + node.name()
              + "': there is no kernel for "
              + t
              + ", only for "
              + types.stream().sorted().toList()
              + ". Cast the input.");
    }
  }
}
