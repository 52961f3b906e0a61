package dev.millrace.tensor.math.conv;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Samples;
import org.junit.jupiter.api.Test;

class ChannelBiasTest {
  private final Samples samples = new Samples(6);

  @Test
  void everyRowGetsTheBias() {
    for (DType type : new DType[] {DType.FLOAT, DType.DOUBLE}) {
      for (int channels : new int[] {1, 10, 16, 17, 1025}) {
        for (int rows : new int[] {1, 7, 70}) {
          check(type, rows, channels, false);
          check(type, rows, channels, true);
        }
      }
    }
  }

  private void check(DType type, int rows, int channels, boolean relu) {
    Tensor value = samples.finite(type, Shape.of(rows, channels));
    Tensor bias = samples.finite(type, Shape.of(channels));
    Tensor out = Tensor.allocate(type, value.shape());
    ChannelBias.add(value, bias, relu, out);
    Tensor inPlace = value.copy();
    ChannelBias.add(inPlace, bias, relu, inPlace);
    for (long i = 0; i < out.elements(); i++) {
      double sum = value.doubleAt(i) + bias.doubleAt(i % channels);
      double expected = relu ? Math.max(0, sum) : sum;
      assertEquals(type == DType.FLOAT ? (float) expected : expected, out.doubleAt(i));
      assertEquals(out.doubleAt(i), inPlace.doubleAt(i));
    }
  }

  @Test
  void notANumberStaysSoAndNothingIsNothing() {
    Tensor x = Tensor.of(Shape.of(2, 2), Float.NaN, 1f, -3f, Float.NaN);
    ChannelBias.add(x, Tensor.vector(1f, -2f), true, x);
    assertTrue(Double.isNaN(x.doubleAt(0)) && Double.isNaN(x.doubleAt(3)));
    assertEquals(0, x.doubleAt(1));
    assertEquals(0, x.doubleAt(2));
    Tensor none = Tensor.allocate(DType.FLOAT, Shape.of(3, 0));
    ChannelBias.add(none, Tensor.allocate(DType.FLOAT, Shape.of(0)), false, none);
  }
}
