package dev.millrace.ops.array;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import org.junit.jupiter.api.Test;

class TransposeShapeTest {
  private final Scope scope = Scope.of(StandardOps.newGraph());

  private Output input(DType type, Shape shape) {
    return Placeholder.of(scope, type, shape);
  }

  @Test
  void theLengthOfThePermutationIsTheRank() {
    Output x = input(DType.FLOAT, Shape.unknown());
    assertEquals(3, Transpose.of(scope, x, input(DType.INT32, Shape.of(3))).shape().rank());
  }

  @Test
  void aPermutationThatIsNoVectorIsRefusedWhileBuilding() {
    Output x = input(DType.FLOAT, Shape.unknown());
    Output perm = input(DType.INT32, Shape.scalar());
    assertThrows(MillraceException.class, () -> Transpose.of(scope, x, perm));
  }
}
