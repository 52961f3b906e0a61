package dev.millrace.ops.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.TinySession;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.Test;

class GradientDescentTest {
  private final TinySession session = new TinySession();
  private final Scope scope = session.scope();

  @Test
  void theVariableMovesAgainstTheGradient() {
    int n = 19;
    float[] w = new float[n];
    float[] g = new float[n];
    float[] expected = new float[n];
    for (int i = 0; i < n; i++) {
      w[i] = i;
      g[i] = 2 * i - 9;
      expected[i] = w[i] - 0.5f * g[i];
    }
    Output v = VariableV2.of(scope, DType.FLOAT, Shape.of(n));
    session.run(Assign.of(scope, v, session.constant(Tensor.vector(w))));
    Output rate = session.constant(Tensor.scalar(0.5f));
    Output out =
        scope
            .node("ApplyGradientDescent")
            .input(v)
            .input(rate)
            .input(session.constant(Tensor.vector(g)))
            .add()
            .output();
    assertArrayEquals(expected, session.fetch(out).toFloats());
  }

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
}
