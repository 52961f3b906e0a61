package dev.millrace.tensor.math;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BiasTest {
  /** Outer, channels, inner. */
  private static final int[][] SIZES = {
    {1, 1, 1},
    {100, 10, 1},
    {7, 3, 1},
    {33, 32, 1},
    {5, 513, 1},
    {20000, 6, 1},
    {3, 5, 49},
    {2, 4, 8}
  };

  @Test
  void vectorAgreesWithScalar() {
    Random random = new Random(1);
    for (int[] n : SIZES) {
      Tensor x = Tensor.allocate(DType.FLOAT, Shape.of(n[0], n[1], n[2]));
      Tensor b = Tensor.allocate(DType.FLOAT, Shape.of(n[1]));
      for (long i = 0; i < x.elements(); i++) {
        x.setDouble(i, random.nextInt(-8, 9));
      }
      for (long i = 0; i < n[1]; i++) {
        b.setDouble(i, random.nextInt(-8, 9));
      }
      Tensor fast = Tensor.allocate(DType.FLOAT, x.shape());
      Tensor slow = Tensor.allocate(DType.FLOAT, x.shape());
      Bias.add(x, b, fast, n[0], n[1], n[2]);
      Bias.addScalar(x, b, slow, n[0], n[1], n[2]);
      assertArrayEquals(slow.toFloats(), fast.toFloats());
      Tensor fastSum = Tensor.allocate(DType.FLOAT, b.shape());
      Tensor slowSum = Tensor.allocate(DType.FLOAT, b.shape());
      Bias.sum(x, fastSum, n[0], n[1], n[2]);
      Bias.sumScalar(x, slowSum, n[0], n[1], n[2]);
      assertArrayEquals(slowSum.toFloats(), fastSum.toFloats());
    }
  }

  @Test
  void integersAreExact() {
    Tensor x = Tensor.vector(Long.MAX_VALUE - 1, 5L);
    Tensor out = Tensor.allocate(DType.INT64, x.shape());
    Bias.add(x, Tensor.vector(1L, -5L), out, 1, 2, 1);
    assertArrayEquals(new long[] {Long.MAX_VALUE, 0}, out.toLongs());
  }
}
