package dev.millrace.tensor.math;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class PoolTest {
  @ParameterizedTest
  @EnumSource(
      names = {
        "FLOAT",
        "DOUBLE",
        "HALF",
        "BFLOAT16",
        "INT8",
        "INT16",
        "INT32",
        "INT64",
        "UINT8",
        "UINT16",
        "UINT32",
        "UINT64"
      })
  void maximaEqualTheReference(DType type) {
    SplittableRandom random = new SplittableRandom(21);
    for (int i = 0; i < 30; i++) {
      Pool p = randomPool(type, random);
      Tensor x = input(p, random);
      Tensor y = output(p, random);
      p.max(x.data(), y.data());
      assertArrayEquals(
          ReferencePool.forward(p, true, x, (int) y.elements()), y.toDoubles(), 0, p.toString());
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"FLOAT", "DOUBLE", "HALF", "BFLOAT16"})
  void averagesAndGradientsEqualTheReference(DType type) {
    SplittableRandom random = new SplittableRandom(22);
    double tolerance =
        switch (type) {
          case FLOAT -> 1e-5;
          case DOUBLE -> 1e-13;
          case HALF -> 1e-2;
          default -> 1e-1;
        };
    for (int i = 0; i < 30; i++) {
      Pool p = randomPool(type, random);
      Tensor x = input(p, random);
      Tensor y = output(p, random);
      Tensor dx = input(p, random);
      p.maxGradient(x.data(), y.data(), dx.data());
      assertArrayEquals(
          ReferencePool.gradient(p, true, x, y), dx.toDoubles(), tolerance, p.toString());
      p.averageGradient(y.data(), dx.data());
      assertArrayEquals(
          ReferencePool.gradient(p, false, x, y), dx.toDoubles(), tolerance, p.toString());
      p.average(x.data(), y.data());
      assertArrayEquals(
          ReferencePool.forward(p, false, x, (int) y.elements()),
          y.toDoubles(),
          tolerance,
          p.toString());
    }
  }

  @Test
  void theGradientGoesToTheFirstOfEqualMaxima() {
    for (DType type : new DType[] {DType.FLOAT, DType.DOUBLE}) {
      Pool p = square(type);
      Tensor dy = Tensor.allocate(type, Shape.of(1, 1, 1, 1));
      dy.setDouble(0, 7);
      assertArrayEquals(new double[] {0, 7, 0, 0}, fresh(p, 1, 5, 5, 5, dy).toDoubles());
      assertArrayEquals(new double[] {7, 0, 0, 0}, fresh(p, 5, 5, 5, 5, dy).toDoubles());
      assertArrayEquals(new double[] {7, 0, 0, 0}, fresh(p, Double.NaN, 5, 5, 5, dy).toDoubles());
      assertArrayEquals(new double[] {0, 0, 7, 0}, fresh(p, 1, 2, 3, Double.NaN, dy).toDoubles());
    }
  }

  private static Tensor fresh(Pool p, double a, double b, double c, double d, Tensor dy) {
    Tensor dx = Tensor.allocate(p.type(), Shape.of(1, 2, 2, 1));
    p.maxGradient(values(p.type(), a, b, c, d).data(), dy.data(), dx.data());
    return dx;
  }

  @Test
  void notANumberIsPassedOver() {
    // As TensorFlow's processor kernel does it.
    for (DType type : new DType[] {DType.FLOAT, DType.DOUBLE}) {
      double lowest = type == DType.FLOAT ? -Float.MAX_VALUE : -Double.MAX_VALUE;
      double nan = Double.NaN;
      double minus = Double.NEGATIVE_INFINITY;
      assertEquals(3, max(values(type, nan, 1, 2, 3)));
      assertEquals(3, max(values(type, 1, 2, 3, nan)));
      assertEquals(lowest, max(values(type, nan, nan, nan, nan)));
      assertEquals(lowest, max(values(type, minus, nan, minus, minus)));
    }
  }

  private static double max(Tensor x) {
    Tensor y = Tensor.allocate(x.dtype(), Shape.of(1, 1, 1, 1));
    square(x.dtype()).max(x.data(), y.data());
    return y.doubleValue();
  }

  private static Pool square(DType type) {
    Window two = Window.valid(2, 2, 1);
    return new Pool(type, 1, 2, 2, 1, two, two);
  }

  private static Tensor values(DType type, double... v) {
    Tensor t = Tensor.allocate(type, Shape.of(1, 2, 2, 1));
    for (int i = 0; i < v.length; i++) {
      t.setDouble(i, v[i]);
    }
    return t;
  }

  @Test
  void integersHaveNoAverage() {
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () -> {
              Tensor x = Tensor.vector(1, 2, 3, 4);
              square(DType.INT32).average(x.data(), x.data());
            });
    assertEquals("There is no pooled average of int32.", e.getMessage());
  }

  @Test
  void memoryThatIsTooSmallIsRefused() {
    Tensor two = Tensor.vector(1f, 2);
    assertThrows(
        IllegalArgumentException.class, () -> square(DType.FLOAT).max(two.data(), two.data()));
  }

  private static Tensor input(Pool p, SplittableRandom random) {
    return Matrices.random(p.type(), random, p.batch(), p.height(), p.width(), p.channels());
  }

  private static Tensor output(Pool p, SplittableRandom random) {
    return Matrices.random(
        p.type(), random, p.batch(), p.outputHeight(), p.outputWidth(), p.channels());
  }

  private static Pool randomPool(DType type, SplittableRandom random) {
    int height = random.nextInt(1, 12);
    int width = random.nextInt(1, 12);
    int[] channels = {1, 3, 8, 16, 17, 32, 40};
    return new Pool(
        type,
        random.nextInt(1, 4),
        height,
        width,
        channels[random.nextInt(channels.length)],
        randomWindow(height, random),
        randomWindow(width, random));
  }

  /** Padding is narrower than the window, so that every window sees something. */
  private static Window randomWindow(int input, SplittableRandom random) {
    int stride = random.nextInt(1, 4);
    int size = random.nextInt(1, Math.min(input, 4) + 1);
    return switch (random.nextInt(3)) {
      case 0 -> Window.valid(size, stride, 1);
      case 1 -> Window.same(input, size, stride, 1);
      default -> new Window(size, stride, 1, random.nextInt(size), random.nextInt(size));
    };
  }
}
