package dev.millrace.ops.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.TinySession;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.Test;

class VariableLifeTest {
  private final TinySession session = new TinySession();
  private final Scope scope = session.scope();

  @Test
  void aDestroyedVariableIsGone() {
    Output v = VarHandle.of(scope, DType.FLOAT, Shape.scalar());
    session.run(AssignVariable.of(scope, v, session.constant(Tensor.scalar(1f))));
    session.run(scope.node(DestroyResource.OP).input(v).add());
    assertFalse(session.fetch(VarHandle.isInitialized(scope, v)).booleanValue());
    session.run(scope.node(DestroyResource.OP).input(v).add());
    Node strict = scope.node(DestroyResource.OP).input(v).attr("ignore_lookup_error", false).add();
    MillraceException e = assertThrows(MillraceException.class, () -> session.run(strict));
    assertEquals(Code.NOT_FOUND, e.code());
  }

  @Test
  void aTemporaryVariableLastsAStep() {
    Output v =
        scope
            .node(TemporaryVariable.OP)
            .attr("shape", Shape.of(2))
            .attr("dtype", DType.FLOAT)
            .attr("var_name", "sum")
            .add()
            .output();
    Output set = Assign.of(scope, v, session.constant(Tensor.vector(1f, 2f))).output();
    Output add = AssignAdd.of(scope, set, session.constant(Tensor.vector(3f, 3f))).output();
    Output end =
        scope.node(TemporaryVariable.DESTROY).input(add).attr("var_name", "sum").add().output();
    for (int step = 0; step < 2; step++) {
      assertArrayEquals(new float[] {4, 5}, session.fetch(end).toFloats());
    }
  }

  @Test
  void countingEndsAtTheLimit() {
    Output v = VariableV2.of(scope, DType.INT64, Shape.scalar());
    session.run(Assign.of(scope, v, session.constant(Tensor.scalar(0L))));
    Output count = scope.node("CountUpTo").input(v).attr("limit", 2).add().output();
    assertEquals(0, session.fetch(count).longValue());
    assertEquals(1, session.fetch(count).longValue());
    MillraceException e = assertThrows(MillraceException.class, () -> session.fetch(count));
    assertEquals(Code.OUT_OF_RANGE, e.code());
  }
}
