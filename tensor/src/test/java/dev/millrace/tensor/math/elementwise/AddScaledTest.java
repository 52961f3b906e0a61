package dev.millrace.tensor.math.elementwise;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class AddScaledTest {
  @Test
  void everyRealTypeAddsAMultiple() {
    Set<DType> types = EnumSet.copyOf(DType.REAL);
    for (DType type : types) {
      for (int n : new int[] {0, 1, 7, 16, 67}) {
        Tensor x = Tensor.allocate(type, Shape.of(n));
        Tensor y = Tensor.allocate(type, Shape.of(n));
        for (int i = 0; i < n; i++) {
          x.setLong(i, i % 5);
          y.setLong(i, 3L * i % 40 + 20);
        }
        AddScaled.to(y, x, -2);
        for (int i = 0; i < n; i++) {
          assertEquals(3.0 * i % 40 + 20 - 2.0 * (i % 5), y.doubleAt(i), type + " at " + i);
        }
      }
    }
  }

  @Test
  void aRangeIsAddedAtItsOffset() {
    Tensor y = Tensor.vector(1f, 1f, 1f, 1f, 1f);
    AddScaled.to(y, 2, Tensor.vector(9f, 5f, 6f), 1, 2, 1);
    assertEquals("float[5] {1.0, 1.0, 6.0, 7.0, 1.0}", y.toString());
  }

  @Test
  void largeTensorsAreSplitWithoutGaps() {
    int n = 200_003;
    Tensor x = Tensor.allocate(DType.FLOAT, Shape.of(n));
    Tensor y = Tensor.allocate(DType.FLOAT, Shape.of(n));
    for (int i = 0; i < n; i++) {
      x.setDouble(i, i);
      y.setDouble(i, 1);
    }
    AddScaled.to(y, x, 1);
    for (int i = 0; i < n; i++) {
      assertEquals(i + 1, y.doubleAt(i));
    }
  }
}
