package dev.millrace.ops.matrix;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.Evaluator;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.Test;

class MatrixDiagTest {
  private final Scope scope = Scope.of(StandardOps.newGraph());
  private final Output matrix = Const.of(scope, Tensor.of(Shape.of(2, 3), 1f, 2f, 3f, 4f, 5f, 6f));

  private Output part(String align) {
    return scope
        .node("MatrixDiagPartV3")
        .input(matrix)
        .input(Const.of(scope, Tensor.vector(-1, 1)))
        .input(Const.of(scope, 9f))
        .attr("align", align)
        .add()
        .output();
  }

  @Test
  void shortDiagonalsAreAlignedAsAsked() {
    Tensor left = Evaluator.run(part("RIGHT_LEFT"));
    assertEquals(Shape.of(3, 2), left.shape());
    assertArrayEquals(new float[] {2, 6, 1, 5, 4, 9}, left.toFloats());
    assertArrayEquals(new float[] {2, 6, 1, 5, 9, 4}, Evaluator.run(part("LEFT_RIGHT")).toFloats());
  }

  @Test
  void aBandIsPutBackWhereItWasTaken() {
    Output k = Const.of(scope, Tensor.vector(-1, 1));
    Output size = Const.of(scope, 2);
    Output back =
        scope
            .node("MatrixDiagV3")
            .input(part("RIGHT_LEFT"))
            .input(k)
            .input(size)
            .input(Const.of(scope, 3))
            .input(Const.of(scope, 0f))
            .add()
            .output();
    assertArrayEquals(new float[] {1, 2, 0, 4, 5, 6}, Evaluator.run(back).toFloats());
  }

  @Test
  void diagonalsOutsideAreRefused() {
    assertThrows(
        MillraceException.class,
        () ->
            Evaluator.run(
                scope
                    .node("MatrixDiagPartV2")
                    .input(matrix)
                    .input(Const.of(scope, 3))
                    .input(Const.of(scope, 0f))
                    .add()
                    .output()));
  }
}
