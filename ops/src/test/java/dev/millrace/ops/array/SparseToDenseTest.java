package dev.millrace.ops.array;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.Evaluator;
import dev.millrace.ops.StandardOps;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.Test;

class SparseToDenseTest {
  /** Programs look for TensorFlow's words. */
  @Test
  void complaintsNameTheCoordinates() {
    assertEquals(
        "indices[1] = [1,10] is out of bounds: need 0 <= index < [2,5]", refusal(0, 1, 1, 10));
    assertEquals("indices[1] = [1,3] is repeated", refusal(1, 3, 1, 3));
    assertEquals("indices[1] = [0,4] is out of order", refusal(1, 3, 0, 4));
  }

  private static String refusal(long... coordinates) {
    Scope s = Scope.of(StandardOps.newGraph());
    Output dense =
        SparseToDense.of(
            s,
            Const.of(s, Tensor.of(Shape.of(2, 2), coordinates)),
            Const.of(s, Tensor.vector(2L, 5L)),
            Const.of(s, Tensor.vector(1f, 2f)),
            Const.of(s, Tensor.scalar(0f)));
    return assertThrows(MillraceException.class, () -> Evaluator.run(dense)).getMessage();
  }
}
