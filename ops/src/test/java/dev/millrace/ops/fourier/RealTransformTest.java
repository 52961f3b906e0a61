package dev.millrace.ops.fourier;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.Evaluator;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.ComplexParts;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.Test;

class RealTransformTest {
  private final Scope scope = Scope.of(StandardOps.newGraph());

  private Output of(String op, Output x, int... length) {
    return scope.node(op).input(x).input(Const.ints(scope, length)).add().output();
  }

  @Test
  void aTransformThereAndBackGivesTheNumbers() {
    Output x = Const.of(scope, Tensor.vector(1f, 2f, 4f, 8f, 16f));
    Output y = of("RFFT", x, 5);
    assertEquals(Shape.of(3), y.shape());
    Tensor back = Evaluator.run(of("IRFFT", y, 5));
    assertArrayEquals(new float[] {1, 2, 4, 8, 16}, back.toFloats(), 1e-5f);
    Tensor sum = Evaluator.run(ComplexParts.real(scope, y));
    assertEquals(31, sum.doubleAt(0), 1e-5);
  }

  @Test
  void anInputThatIsTooShortIsRefusedByItsLength() {
    Output x = Const.of(scope, Tensor.vector(1f, 2f));
    MillraceException e =
        assertThrows(MillraceException.class, () -> Evaluator.run(of("RFFT", x, 4)));
    assertTrue(e.getMessage().contains("length of at least 4 but got: 2"), e.getMessage());
  }
}
