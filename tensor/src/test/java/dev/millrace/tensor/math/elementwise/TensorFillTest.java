package dev.millrace.tensor.math.elementwise;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Samples;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class TensorFillTest {
  @Test
  void everyElementOfEveryTypeBecomesTheValue() {
    for (DType type : DType.ANY) {
      if (!type.isPlain()) {
        continue;
      }
      Tensor value = Tensor.allocate(type, Shape.scalar());
      for (int i = 0; i < type.bytes(); i++) {
        value.data().set(java.lang.foreign.ValueLayout.JAVA_BYTE, i, (byte) (i + 1));
      }
      for (int n : Samples.LENGTHS) {
        Tensor out = Tensor.allocate(type, Shape.of(n));
        TensorFill.with(value, out);
        for (int i = 0; i < n; i++) {
          MemorySegment element = out.data().asSlice((long) i * type.bytes(), type.bytes());
          assertEquals(-1, element.mismatch(value.data()), type + " " + i);
        }
      }
    }
  }

  @Test
  void stringsAreFilledAndCopied() {
    Tensor out = Tensor.allocate(DType.STRING, Shape.of(3));
    TensorFill.with(Tensor.scalar("x"), out);
    assertArrayEquals(new String[] {"x", "x", "x"}, out.toStrings());
    TensorFill.copy(Tensor.vector("a", "b", "c"), out);
    assertArrayEquals(new String[] {"a", "b", "c"}, out.toStrings());
  }

  @Test
  void zeroAndCopyReachTheLastElement() {
    Tensor x = new Samples(1).finite(DType.FLOAT, Shape.of(600_001));
    Tensor y = Tensor.allocate(DType.FLOAT, x.shape());
    TensorFill.copy(x, y);
    assertArrayEquals(x.toFloats(), y.toFloats());
    TensorFill.zero(y);
    assertArrayEquals(new float[600_001], y.toFloats());
  }
}
