package dev.millrace.ops.array;

import dev.millrace.graph.op.Op;
import java.util.List;

/** The ops of this package. */
public final class ArrayOps {
  public static final List<Op> ALL =
      List.of(
          Const.OP, Identity.OP, NoOp.OP, Placeholder.OP, Placeholder.V2, Placeholder.WITH_DEFAULT);

  private ArrayOps() {}
}
