package dev.millrace.ops.space;

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
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.Test;

class DepthSpaceTest {
  private final Scope scope = Scope.of(StandardOps.newGraph());

  private Output moved(String op, Output x, String format) {
    return scope
        .node(op)
        .input(x)
        .attr("block_size", 2L)
        .attr("data_format", format)
        .add()
        .output();
  }

  @Test
  void fourChannelsBecomeABlockOfPixels() {
    Output x = Const.of(scope, Tensor.of(Shape.of(1, 1, 2, 4), 1, 2, 3, 4, 5, 6, 7, 8));
    Tensor y = Evaluator.run(moved("DepthToSpace", x, "NHWC"));
    assertEquals(Shape.of(1, 2, 4, 1), y.shape());
    assertArrayEquals(new int[] {1, 2, 5, 6, 3, 4, 7, 8}, y.toInts());
  }

  /** TensorFlow has this layout on GPUs only, so no conformance case covers it. */
  @Test
  void channelsThatComeSecondMoveToo() {
    Output x = Const.of(scope, Tensor.of(Shape.of(1, 4, 1, 2), 1, 5, 2, 6, 3, 7, 4, 8));
    Tensor y = Evaluator.run(moved("DepthToSpace", x, "NCHW"));
    assertEquals(Shape.of(1, 1, 2, 4), y.shape());
    assertArrayEquals(new int[] {1, 2, 5, 6, 3, 4, 7, 8}, y.toInts());
    Output back = moved("SpaceToDepth", moved("DepthToSpace", x, "NCHW"), "NCHW");
    assertArrayEquals(new int[] {1, 5, 2, 6, 3, 7, 4, 8}, Evaluator.run(back).toInts());
  }

  @Test
  void anIndivisibleDepthIsRefusedByName() {
    Output x = Const.of(scope, Tensor.of(Shape.of(1, 1, 1, 3), 1, 2, 3));
    MillraceException e =
        assertThrows(MillraceException.class, () -> moved("DepthToSpace", x, "NHWC"));
    assertTrue(e.getMessage().contains("depth of the input, 3, must be divisible by 4"));
  }
}
