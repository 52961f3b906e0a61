package dev.millrace.ops.scatter;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.Evaluator;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.Test;

class TensorScatterTest {
  private final Scope scope = Scope.of(StandardOps.newGraph());
  private final Tensor x = Tensor.of(Shape.of(2, 2), 1, 2, 3, 4);

  private Output scatter(String op, Tensor indices, Tensor updates, String policy) {
    return scope
        .node(op)
        .input(Const.of(scope, x))
        .input(Const.of(scope, indices))
        .input(Const.of(scope, updates))
        .attr("bad_indices_policy", policy)
        .add()
        .output();
  }

  @Test
  void theTensorGivenStaysAsItIs() {
    Tensor row = Tensor.of(Shape.of(1, 1), 1);
    Tensor seven = Tensor.of(Shape.of(1, 2), 7, 7);
    assertArrayEquals(
        new int[] {1, 2, 10, 11},
        Evaluator.run(scatter("TensorScatterAdd", row, seven, "")).toInts());
    assertArrayEquals(new int[] {1, 2, 3, 4}, x.toInts());
  }

  @Test
  void theLastOfSeveralUpdatesOfAnElementStays() {
    Tensor twice = Tensor.of(Shape.of(2, 2), 0, 1, 0, 1);
    Output y = scatter("TensorScatterUpdate", twice, Tensor.vector(8, 9), "");
    assertArrayEquals(new int[] {1, 9, 3, 4}, Evaluator.run(y).toInts());
  }

  @Test
  void coordinatesOutsideAreRefusedOrIgnored() {
    Tensor outside = Tensor.of(Shape.of(2, 2), 0, 0, 2, 0);
    Tensor updates = Tensor.vector(5, 6);
    Output refused = scatter("TensorScatterMax", outside, updates, "ERROR");
    MillraceException e = assertThrows(MillraceException.class, () -> Evaluator.run(refused));
    assertTrue(e.getMessage().contains("indices[1] = [2, 0] does not index into output shape"));
    Output ignored = scatter("TensorScatterMax", outside, updates, "IGNORE");
    assertArrayEquals(new int[] {5, 2, 3, 4}, Evaluator.run(ignored).toInts());
  }
}
