package dev.millrace.tensor.math.reduce;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ChannelSumTest {
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
      for (long i = 0; i < x.elements(); i++) {
        x.setDouble(i, random.nextInt(-8, 9));
      }
      Tensor fastSum = Tensor.allocate(DType.FLOAT, Shape.of(n[1]));
      Tensor slowSum = Tensor.allocate(DType.FLOAT, Shape.of(n[1]));
      ChannelSum.run(x, fastSum, n[0], n[1], n[2]);
      ChannelSum.sumScalar(x, slowSum, n[0], n[1], n[2]);
      assertArrayEquals(slowSum.toFloats(), fastSum.toFloats());
    }
  }

  @Test
  void integersAreExact() {
    Tensor x = Tensor.of(Shape.of(2, 2), Long.MAX_VALUE - 1, 5L, 1L, -5L);
    Tensor out = Tensor.allocate(DType.INT64, Shape.of(2));
    ChannelSum.run(x, out, 2, 2, 1);
    assertArrayEquals(new long[] {Long.MAX_VALUE, 0}, out.toLongs());
  }
}
