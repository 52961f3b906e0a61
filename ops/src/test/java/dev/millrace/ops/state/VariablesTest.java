package dev.millrace.ops.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.TinySession;
import dev.millrace.ops.array.Identity;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class VariablesTest {
  @AutoClose private final TinySession session = new TinySession();
  private final Scope scope = session.scope();

  private Output reference(float... value) {
    Output v = VariableV2.of(scope.withName("v"), DType.FLOAT, Shape.of(value.length));
    session.run(Assign.of(scope, v, session.constant(Tensor.vector(value))));
    return v;
  }

  private Output resource(float... value) {
    Output v = VarHandle.of(scope.withName("r"), DType.FLOAT, Shape.of(value.length));
    session.run(AssignVariable.of(scope, v, session.constant(Tensor.vector(value))));
    return v;
  }

  @Test
  void addingToAReferenceShowsInEarlierReads() {
    Output v = reference(1, 2, 3);
    Output read = Identity.of(scope, v);
    Node add = AssignAdd.of(scope, v, session.constant(Tensor.vector(10f, 20f, 30f)));
    // The read runs first, yet gives the sum: it has the variable's own memory.
    Output after = Identity.of(scope.withControlInputs(add), read);
    assertArrayEquals(new float[] {11, 22, 33}, session.fetch(after).toFloats());
  }

  @Test
  void addingToAResourceLeavesEarlierReadsAlone() {
    Output r = resource(1, 2, 3);
    Output before = ReadVariable.of(scope, r, DType.FLOAT);
    Node add =
        AssignAdd.of(
            scope.withControlInputs(before.node()),
            r,
            session.constant(Tensor.vector(10f, 20f, 30f)));
    Output after = ReadVariable.of(scope.withControlInputs(add), r, DType.FLOAT);
    Tensor[] values = session.run(before, after);
    assertArrayEquals(new float[] {1, 2, 3}, values[0].toFloats());
    assertArrayEquals(new float[] {11, 22, 33}, values[1].toFloats());
  }

  @Test
  void subtractingWorksForBothKindsAndReturnsTheReference() {
    Output v = reference(1, 2);
    Output one = session.constant(Tensor.vector(1f, 1f));
    assertArrayEquals(
        new float[] {0, 1}, session.fetch(AssignAdd.sub(scope, v, one).output()).toFloats());
    Output r = resource(5, 6);
    session.run(AssignAdd.sub(scope, r, one));
    assertArrayEquals(
        new float[] {4, 5}, session.fetch(ReadVariable.of(scope, r, DType.FLOAT)).toFloats());
  }

  @Test
  void integersAreCounted() {
    Output v = VariableV2.of(scope, DType.INT64, Shape.scalar());
    session.run(Assign.of(scope, v, session.constant(Tensor.scalar((1L << 53) + 1))));
    Node add = AssignAdd.of(scope, v, session.constant(Tensor.scalar(2L)));
    assertEquals((1L << 53) + 3, session.fetch(add.output()).longValue());
  }

  @Test
  void aResourceVariableExistsFromItsFirstAssignment() {
    Output r = VarHandle.of(scope.withName("r"), DType.FLOAT, Shape.of(1));
    Output known = VarHandle.isInitialized(scope, r);
    assertFalse(session.fetch(known).booleanValue());
    MillraceException e =
        assertThrows(
            MillraceException.class, () -> session.fetch(ReadVariable.of(scope, r, DType.FLOAT)));
    assertEquals(Code.FAILED_PRECONDITION, e.code());
    assertTrue(e.getMessage().contains("uninitialized"), e.getMessage());
    session.run(AssignVariable.of(scope, r, session.constant(Tensor.vector(7f))));
    assertTrue(session.fetch(known).booleanValue());
  }

  @Test
  void handlesWithOneSharedNameAreOneVariable() {
    Output a = resource(1);
    Output b =
        scope
            .node(VarHandle.OP)
            .attr("dtype", DType.FLOAT)
            .attr("shape", Shape.of(1))
            .attr("shared_name", a.node().name())
            .add()
            .output();
    assertEquals(1, session.fetch(ReadVariable.of(scope, b, DType.FLOAT)).floatValue());
  }

  @Test
  void theShapeOfAResourceVariableIsKnownFromItsHandle() {
    Output r = resource(1, 2, 3);
    assertEquals(Shape.of(3), ReadVariable.of(scope, r, DType.FLOAT).shape());
    assertThrows(
        MillraceException.class,
        () -> AssignAdd.of(scope, r, session.constant(Tensor.vector(1f, 2f))));
  }

  @Test
  void readingAsAnotherTypeIsRefused() {
    Output r = resource(1);
    MillraceException e =
        assertThrows(
            MillraceException.class, () -> session.fetch(ReadVariable.of(scope, r, DType.INT32)));
    assertEquals(Code.INVALID_ARGUMENT, e.code());
  }
}
