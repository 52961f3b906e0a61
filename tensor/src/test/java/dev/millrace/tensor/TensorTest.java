package dev.millrace.tensor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.MillraceException;
import org.junit.jupiter.api.Test;

class TensorTest {
  private static String refusal(DType dtype, Shape shape) {
    String message =
        assertThrows(MillraceException.class, () -> Tensor.allocate(dtype, shape)).getMessage();
    assertEquals(
        message,
        assertThrows(MillraceException.class, () -> Refs.allocate(dtype, shape)).getMessage());
    return message;
  }

  @Test
  void aShapeWhoseBytesCannotBeCountedIsRefused() {
    assertEquals(
        "A float tensor of shape [4611686018427387904] needs more than 2^63 bytes.",
        refusal(DType.FLOAT, Shape.of(1L << 62)));
  }

  @Test
  void moreStringsThanAnArrayHasIsRefused() {
    assertEquals(
        "A string tensor of shape [65536,65536] has 4294967296 elements; at most 2147483647 are"
            + " possible.",
        refusal(DType.STRING, Shape.of(1 << 16, 1 << 16)));
  }
}
