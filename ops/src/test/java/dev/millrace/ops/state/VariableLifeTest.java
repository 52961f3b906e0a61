package dev.millrace.ops.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.resource.Variable;
import dev.millrace.ops.TinySession;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class VariableLifeTest {
  @AutoClose private final TinySession session = new TinySession();
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
  void whatHasAShapeKeepsIt() {
    Scope shared = scope.withName("shared");
    Output two = VariableV2.of(shared, DType.FLOAT, Shape.of(2));
    Output three =
        scope
            .node(VariableV2.OP)
            .attr("shape", Shape.of(3))
            .attr("dtype", DType.FLOAT)
            .attr("shared_name", two.node().name())
            .add()
            .output();
    session.run(Assign.of(scope, two, session.constant(Tensor.vector(1f, 2f))));
    Output value = session.constant(Tensor.vector(1f, 2f, 3f));
    MillraceException e =
        assertThrows(MillraceException.class, () -> session.run(Assign.of(scope, three, value)));
    assertEquals(Code.INVALID_ARGUMENT, e.code());
    assertTrue(
        e.getMessage()
            .contains(
                "Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= [3]"),
        e.getMessage());
    assertArrayEquals(new float[] {1, 2}, session.fetch(two).toFloats());
    session.run(
        scope.node(Assign.OP).input(three).input(value).attr("validate_shape", false).add());
    assertArrayEquals(new float[] {1, 2, 3}, session.fetch(three).toFloats());
  }

  @Test
  void readersShareAgainWhatRowsWereChangedIn() {
    Output v = VarHandle.of(scope, DType.FLOAT, Shape.of(2));
    Node share = scope.node(DisableCopyOnRead.OP).input(v).add();
    assertEquals(
        Code.FAILED_PRECONDITION,
        assertThrows(MillraceException.class, () -> session.run(share)).code());
    session.run(AssignVariable.of(scope, v, session.constant(Tensor.vector(1f, 2f))));
    Variable variable = session.resources().find("", v.node().name(), Variable.class);
    variable.updateRows(1, Tensor.vector(0), t -> t.setDouble(0, 5));
    Tensor copied = variable.read();
    session.run(share);
    try (Tensor first = Refs.handle(variable.read());
        Tensor second = Refs.handle(variable.read())) {
      assertEquals(first.data().address(), second.data().address());
      assertNotEquals(copied.data().address(), first.data().address());
      variable.updateRows(1, Tensor.vector(1), t -> t.setDouble(1, 7));
      assertArrayEquals(new float[] {5, 2}, first.toFloats());
    }
    Refs.release(copied);
    assertArrayEquals(
        new float[] {5, 7}, session.fetch(ReadVariable.of(scope, v, DType.FLOAT)).toFloats());
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
