package dev.millrace.ops.math;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.tensor.DType;

/** The answer to an element type that an op's signature allows but no loop here computes. */
final class Refusal {
  private Refusal() {}

  /** Throws unless {@code supported}; called when a kernel is made, before any step runs. */
  static void unless(boolean supported, Node node, DType type) {
    if (!supported) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          String.format(
              "%s '%s' cannot compute on %s here. Cast its inputs to float or another real type.",
              node.op().name(), node.name(), type));
    }
  }
}
