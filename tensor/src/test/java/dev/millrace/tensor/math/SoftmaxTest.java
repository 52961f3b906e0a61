package dev.millrace.tensor.math;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Random;
import org.junit.jupiter.api.Test;

class SoftmaxTest {
  private static final int[][] SIZES = {{1, 1}, {3, 10}, {100, 10}, {5, 17}, {2, 1000}, {700, 33}};

  private static Tensor random(long rows, long cols, long seed) {
    Random random = new Random(seed);
    Tensor t = Tensor.allocate(DType.FLOAT, Shape.of(rows, cols));
    for (long i = 0; i < t.elements(); i++) {
      t.setDouble(i, 4 * random.nextGaussian());
    }
    return t;
  }

  @Test
  void vectorAgreesWithScalar() {
    for (int[] size : SIZES) {
      Tensor x = random(size[0], size[1], 1);
      for (boolean log : new boolean[] {false, true}) {
        Tensor fast = Tensor.allocate(DType.FLOAT, x.shape());
        Tensor slow = Tensor.allocate(DType.FLOAT, x.shape());
        if (log) {
          Softmax.logSoftmax(x, fast, size[0], size[1]);
        } else {
          Softmax.softmax(x, fast, size[0], size[1]);
        }
        Softmax.softmaxScalar(x, slow, size[0], size[1], log);
        assertArrayEquals(slow.toFloats(), fast.toFloats(), 3e-6f);
      }
    }
  }

  @Test
  void crossEntropiesAgreeWithScalar() {
    for (int[] size : SIZES) {
      Shape s = Shape.of(size[0], size[1]);
      Tensor x = random(size[0], size[1], 2);
      Tensor classes = Tensor.allocate(DType.INT64, Shape.of(size[0]));
      Tensor shares = Tensor.allocate(DType.FLOAT, s);
      Softmax.softmax(random(size[0], size[1], 3), shares, size[0], size[1]);
      for (int r = 0; r < size[0]; r++) {
        classes.setLong(r, r * 7 % size[1]);
      }
      Tensor[] fast = {floats(Shape.of(size[0])), floats(s), floats(Shape.of(size[0])), floats(s)};
      Tensor[] slow = {floats(Shape.of(size[0])), floats(s), floats(Shape.of(size[0])), floats(s)};
      Softmax.sparseCrossEntropy(x, classes, fast[0], fast[1], size[0], size[1]);
      Softmax.sparseCrossEntropyScalar(x, classes, slow[0], slow[1], size[0], size[1]);
      Softmax.crossEntropy(x, shares, fast[2], fast[3], size[0], size[1]);
      Softmax.crossEntropyScalar(x, shares, slow[2], slow[3], size[0], size[1]);
      for (int i = 0; i < 4; i++) {
        assertArrayEquals(slow[i].toFloats(), fast[i].toFloats(), 1e-5f);
      }
    }
  }

  @Test
  void hugeLogitsDoNotOverflow() {
    Tensor x = Tensor.of(Shape.of(2, 2), 1e30f, -1e30f, -1e38f, -1e38f);
    Tensor y = floats(x.shape());
    Softmax.softmax(x, y, 2, 2);
    assertArrayEquals(new float[] {1, 0, .5f, .5f}, y.toFloats(), 1e-6f);
  }

  @Test
  void labelOfZeroIgnoresInfiniteLogit() {
    Tensor x = Tensor.of(Shape.of(1, 2), 0f, Float.NEGATIVE_INFINITY);
    Tensor loss = floats(Shape.of(1));
    Softmax.crossEntropy(x, Tensor.of(Shape.of(1, 2), 1f, 0f), loss, floats(x.shape()), 1, 2);
    assertEquals(0, loss.floatValue(), 1e-6);
  }

  private static Tensor floats(Shape s) {
    return Tensor.allocate(DType.FLOAT, s);
  }
}
