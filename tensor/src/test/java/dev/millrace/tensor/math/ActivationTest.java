package dev.millrace.tensor.math;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ActivationTest {
  private static final int N = 1003;

  private static Tensor ramp(DType type) {
    Tensor t = Tensor.allocate(type, Shape.of(N));
    for (int i = 0; i < N; i++) {
      t.setDouble(i, (i - 500) * .03125);
    }
    return t;
  }

  @ParameterizedTest
  @EnumSource
  void floatsAgreeWithDoubles(Activation f) {
    Tensor fast = Tensor.allocate(DType.FLOAT, Shape.of(N));
    Tensor slow = Tensor.allocate(DType.DOUBLE, Shape.of(N));
    f.apply(ramp(DType.FLOAT), fast);
    f.apply(ramp(DType.DOUBLE), slow);
    assertArrayEquals(slow.toFloats(), fast.toFloats(), 3e-6f);
    f.gradient(ramp(DType.FLOAT), ramp(DType.FLOAT), fast);
    f.gradient(ramp(DType.DOUBLE), ramp(DType.DOUBLE), slow);
    assertArrayEquals(slow.toFloats(), fast.toFloats(), 2e-5f);
  }

  @Test
  void reluKeepsNaNAndItsGradientIsZeroAtZero() {
    float[] values = new float[16];
    values[0] = Float.NaN;
    values[1] = -1;
    values[2] = 2;
    Tensor x = Tensor.vector(values);
    Tensor y = Tensor.allocate(DType.FLOAT, x.shape());
    Activation.RELU.apply(x, y);
    values[1] = 0;
    assertArrayEquals(values, y.toFloats());
    float[] ones = new float[16];
    java.util.Arrays.fill(ones, 1);
    Activation.RELU.gradient(Tensor.vector(ones), x, y);
    float[] expected = new float[16];
    expected[2] = 1;
    assertArrayEquals(expected, y.toFloats());
  }
}
