package dev.millrace.ops.state;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class StateOps {
  public static final List<Op> ALL =
      Stream.of(
              List.of(VariableV2.OP, VariableV2.V1, VariableV2.IS_INITIALIZED, Assign.OP),
              List.of(VarHandle.OP, VarHandle.IS_INITIALIZED, ReadVariable.OP, AssignVariable.OP),
              List.of(ResourceGather.OP, VariableShape.OP, DestroyResource.OP),
              List.of(DisableCopyOnRead.OP),
              AssignAdd.ALL,
              Scatter.ALL,
              CountUpTo.ALL,
              TemporaryVariable.ALL)
          .flatMap(List::stream)
          .toList();

  private StateOps() {}
}
