package dev.millrace.tensor.math;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.elementwise.TensorFill;
import java.util.Random;
import org.junit.jupiter.api.Test;

class RowsTest {
  @Test
  void firstIndexOutsideIsFound() {
    assertEquals(-1, Rows.firstOutside(Tensor.vector(0, 4, 2), 5));
    assertEquals(1, Rows.firstOutside(Tensor.vector(0, 5, -1), 5));
    assertEquals(2, Rows.firstOutside(Tensor.vector(0L, 4L, -1L), 5));
  }

  @Test
  void blocksOfABatchUseItsIndices() {
    Tensor x = Tensor.of(Shape.of(2, 2, 3), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    Tensor y = Tensor.allocate(DType.INT32, Shape.of(2, 2, 2));
    Rows.gather(x, 2, 4, 3, 1, Tensor.of(Shape.of(2, 2), 0, 2, 1, 1), y);
    assertArrayEquals(new int[] {0, 2, 3, 5, 7, 7, 10, 10}, y.toInts());
  }

  @Test
  void rowsOfTheSameIndexAddUpInAnyType() {
    for (DType type : new DType[] {DType.FLOAT, DType.DOUBLE, DType.HALF, DType.INT8}) {
      Tensor rows = Tensor.allocate(type, Shape.of(4, 2));
      for (int i = 0; i < 8; i++) {
        rows.setLong(i, i);
      }
      Tensor sum = Tensor.allocate(type, Shape.of(3, 2));
      TensorFill.zero(sum);
      Rows.add(sum, Tensor.vector(2, 0, 2, -1), rows, 2);
      assertArrayEquals(new double[] {2, 3, 0, 0, 4, 6}, sum.toDoubles(), type.label());
    }
  }

  @Test
  void manyRowsAddUpWhateverThreadTakesThem() {
    Random r = new Random(3);
    int n = 5000;
    int length = 37;
    Tensor rows = Tensor.allocate(DType.FLOAT, Shape.of(n, length));
    Tensor indices = Tensor.allocate(DType.INT64, Shape.of(n));
    double[] expected = new double[100 * length];
    for (int i = 0; i < n; i++) {
      int k = r.nextInt(100);
      indices.setLong(i, k);
      for (int j = 0; j < length; j++) {
        int v = r.nextInt(100);
        rows.setLong((long) i * length + j, v);
        expected[k * length + j] += v;
      }
    }
    Tensor sum = Tensor.allocate(DType.FLOAT, Shape.of(100, length));
    TensorFill.zero(sum);
    Rows.add(sum, indices, rows, length);
    assertArrayEquals(expected, sum.toDoubles());
  }
}
