package dev.millrace.ops.state;

import dev.millrace.graph.op.Op;
import java.util.List;

/** The ops of this package. */
public final class StateOps {
  public static final List<Op> ALL =
      List.of(VariableV2.OP, VariableV2.V1, VariableV2.IS_INITIALIZED, Assign.OP);

  private StateOps() {}
}
