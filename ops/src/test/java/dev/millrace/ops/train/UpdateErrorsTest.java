package dev.millrace.ops.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.TinySession;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class UpdateErrorsTest {
  @AutoClose private final TinySession session = new TinySession();
  private final Scope scope = session.scope();

  @Test
  void anUninitializedVariableIsNamed() {
    Output v = VariableV2.of(scope.withName("w"), DType.FLOAT, Shape.of(1));
    Output rate = session.constant(Tensor.scalar(0.5f));
    Output g = session.constant(Tensor.vector(1f));
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () ->
                session.run(
                    scope.node("ApplyGradientDescent").input(v).input(rate).input(g).add()));
    assertEquals(Code.FAILED_PRECONDITION, e.code());
    assertEquals("Attempting to use uninitialized value w", e.getMessage());
  }

  private Output variable(float... values) {
    Output v = VariableV2.of(scope, DType.FLOAT, Shape.unknown());
    session.run(Assign.of(scope, v, session.constant(Tensor.vector(values))));
    return v;
  }

  @Test
  void aWrongIndexChangesNothing() {
    Output v = variable(1, 2, 3);
    Output accum = variable(1, 1, 1);
    Output rate = session.constant(Tensor.scalar(1f));
    Output grad = session.constant(Tensor.vector(1f, 1f));
    for (int bad : new int[] {-1, 3}) {
      MillraceException e =
          assertThrows(
              MillraceException.class,
              () ->
                  session.run(
                      scope
                          .node("SparseApplyAdagrad")
                          .input(v)
                          .input(accum)
                          .input(rate)
                          .input(grad)
                          .input(session.constant(Tensor.vector(0, bad)))
                          .add()));
      assertEquals(Code.INVALID_ARGUMENT, e.code());
      assertTrue(e.getMessage().contains("index " + bad), e.getMessage());
    }
    assertArrayEquals(new float[] {1, 2, 3}, session.fetch(v).toFloats());
  }

  @Test
  void shapesMustAgree() {
    Output v = variable(1, 2, 3);
    Output slot = variable(1, 1);
    Output rate = session.constant(Tensor.scalar(1f));
    Output grad = session.constant(Tensor.vector(1f, 1f, 1f));
    assertThrows(MillraceException.class, () -> session.run(adagrad(v, slot, rate, grad)));
    Output shortGrad = session.constant(Tensor.vector(1f, 1f));
    assertThrows(
        MillraceException.class, () -> session.run(adagrad(v, variable(1, 1, 1), rate, shortGrad)));
    Output vectorRate = session.constant(Tensor.vector(1f));
    assertThrows(
        MillraceException.class,
        () -> session.run(adagrad(v, variable(1, 1, 1), vectorRate, grad)));
  }

  private Node adagrad(Output v, Output slot, Output rate, Output grad) {
    return scope.node("ApplyAdagrad").input(v).input(slot).input(rate).input(grad).add();
  }

  @Test
  void complexNumbersAreRefusedByName() {
    Output v = VariableV2.of(scope, DType.COMPLEX64, Shape.of(1));
    Output c = session.constant(Tensor.allocate(DType.COMPLEX64, Shape.scalar()));
    Output g = session.constant(Tensor.allocate(DType.COMPLEX64, Shape.of(1)));
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () -> session.run(scope.node("ApplyGradientDescent").input(v).input(c).input(g).add()));
    assertEquals(Code.UNIMPLEMENTED, e.code());
  }
}
