package dev.millrace.tensor.math.conv;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.ReferencePool;
import dev.millrace.tensor.math.elementwise.Elementwise;
import dev.millrace.tensor.math.elementwise.UnaryOp;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ImagePoolTest {
  private static final int ROUNDS = 40;

  private final SplittableRandom random = new SplittableRandom(21);

  /** Windows that overlap, tile the images or leave gaps; channels that fill vectors or do not. */
  private ImagePool pool() {
    int height = 1 + random.nextInt(9);
    int width = 1 + random.nextInt(9);
    int channels = random.nextBoolean() ? 16 * (1 + random.nextInt(3)) : 1 + random.nextInt(40);
    return new ImagePool(
        1 + random.nextInt(3), height, width, channels, window(height), window(width));
  }

  private Window window(int image) {
    int size = 1 + random.nextInt(Math.min(3, image));
    int stride = random.nextBoolean() ? size : 1 + random.nextInt(3);
    return random.nextBoolean()
        ? Window.same(image, size, stride, 1)
        : Window.valid(size, stride, 1);
  }

  /** Distinct small whole numbers, so that every type holds them and no maximum is a tie. */
  private Tensor input(DType type, ImagePool p) {
    Shape shape = Shape.of(p.batch(), p.height(), p.width(), p.channels());
    return values(type, shape, type.isFloating() ? -50 : 0);
  }

  private Tensor output(DType type, ImagePool p) {
    return values(type, Shape.of(p.batch(), p.outputHeight(), p.outputWidth(), p.channels()), -50);
  }

  private Tensor values(DType type, Shape shape, int least) {
    Tensor t = Tensor.allocate(type, shape);
    for (long i = 0; i < t.elements(); i++) {
      int v = least + random.nextInt(100);
      if (type.isFloating()) {
        t.setDouble(i, v);
      } else {
        t.setLong(i, v);
      }
    }
    return t;
  }

  @ParameterizedTest
  @EnumSource(names = {"FLOAT", "DOUBLE", "HALF", "INT32", "UINT8", "INT64"})
  void maximaAreTheReferences(DType type) {
    for (int i = 0; i < ROUNDS; i++) {
      ImagePool p = pool();
      Tensor x = input(type, p);
      Tensor y = output(type, p);
      p.max(x, y);
      assertArrayEquals(
          ReferencePool.forward(p, true, x, (int) y.elements()), y.toDoubles(), 0, p.toString());
    }
  }

  /** Windows of two by two, with as many channels as take the vector loop, the rest, or both. */
  @Test
  void amongTheLargestNanDoesNotCount() {
    float nan = Float.NaN;
    float none = -Float.MAX_VALUE;
    float[][] windows = {{nan, 1, 3, 2}, {1, nan, 2, nan}, {nan, nan, nan, nan}};
    float[] largest = {3, 2, none};
    for (int channels : new int[] {3, 16, 19}) {
      Tensor x = Tensor.allocate(DType.FLOAT, Shape.of(3, 2, 2, channels));
      for (int i = 0; i < x.elements(); i++) {
        x.setDouble(i, windows[i / channels / 4][i / channels % 4]);
      }
      Window two = Window.valid(2, 2, 1);
      ImagePool p = new ImagePool(3, 2, 2, channels, two, two);
      Tensor y = output(DType.FLOAT, p);
      p.max(x, y);
      for (int i = 0; i < y.elements(); i++) {
        assertEquals(largest[i / channels], y.doubleAt(i), p.toString());
      }
      if (p.isVectorial()) {
        Tensor here = output(DType.FLOAT, p);
        p.maxHere(x.data(), here.data());
        assertArrayEquals(y.toFloats(), here.toFloats());
      }
    }
  }

  /** Windows apart from each other and windows that overlap. */
  @Test
  void windowThatBeginsWithNoNumberKeepsItsGradientThere() {
    float nan = Float.NaN;
    float low = Float.NEGATIVE_INFINITY;
    float[][] images = {{nan, 1, 3, 2}, {low, nan, low, nan}, {low, 1, nan, 2}, {1, nan, 3, 3}};
    int[] places = {0, 0, 3, 2};
    for (int channels : new int[] {3, 16, 32}) {
      Tensor x = Tensor.allocate(DType.FLOAT, Shape.of(4, 2, 2, channels));
      for (int i = 0; i < x.elements(); i++) {
        // The last channel is of plain numbers.
        float plain = i / channels % 4;
        x.setDouble(
            i, i % channels == channels - 1 ? plain : images[i / channels / 4][i / channels % 4]);
      }
      for (int stride : new int[] {2, 1}) {
        Window two = Window.valid(2, stride, 1);
        ImagePool p = new ImagePool(4, 2, 2, channels, two, two);
        Tensor y = output(DType.FLOAT, p);
        p.max(x, y);
        Tensor dy = output(DType.FLOAT, p);
        Tensor dx = input(DType.FLOAT, p);
        p.maxGradient(x, y, dy, false, dx);
        for (int i = 0; i < dx.elements(); i++) {
          int image = i / channels / 4;
          int place = i % channels == channels - 1 ? 3 : places[image];
          double expected =
              i / channels % 4 == place ? dy.doubleAt(image * channels + i % channels) : 0;
          assertEquals(expected, dx.doubleAt(i), p + " " + i);
        }
      }
    }
  }

  @Test
  void gatheredIsWhatStandsWhereTheLargestIs() {
    Window two = Window.valid(2, 2, 1);
    ImagePool p = new ImagePool(1, 2, 4, 1, two, two);
    Tensor x = Tensor.of(Shape.of(1, 2, 4, 1), 1f, 5f, 2f, 3f, 5f, 0f, 8f, 7f);
    Tensor largest = Tensor.of(Shape.of(1, 1, 2, 1), 5f, Float.NaN);
    Tensor dx = Tensor.of(Shape.of(1, 2, 4, 1), 1f, 2f, 3f, 4f, 5f, 6f, 7f, 8f);
    Tensor dy = output(DType.FLOAT, p);
    p.maxGather(x, largest, dx, dy);
    assertArrayEquals(new float[] {2, 0}, dy.toFloats());
  }

  @ParameterizedTest
  @EnumSource(names = {"FLOAT", "DOUBLE"})
  void gradientsOfMaximaAreTheReferences(DType type) {
    for (int i = 0; i < ROUNDS; i++) {
      ImagePool p = pool();
      Tensor x = input(type, p);
      Tensor y = output(type, p);
      p.max(x, y);
      Tensor dy = output(type, p);
      Tensor dx = input(type, p);
      p.maxGradient(x, y, dy, false, dx);
      assertArrayEquals(ReferencePool.gradient(p, true, x, dy), dx.toDoubles(), 0, p.toString());
    }
  }

  @Test
  void withReluTheGradientStopsAtWhatIsNotAboveZero() {
    for (int i = 0; i < ROUNDS; i++) {
      ImagePool p = pool();
      Tensor x = input(DType.FLOAT, p);
      Elementwise.unary(UnaryOp.RELU, x, x);
      Tensor y = output(DType.FLOAT, p);
      p.max(x, y);
      Tensor dy = output(DType.FLOAT, p);
      Tensor dx = input(DType.FLOAT, p);
      p.maxGradient(x, y, dy, true, dx);
      double[] expected = ReferencePool.gradient(p, true, x, dy);
      for (int k = 0; k < expected.length; k++) {
        expected[k] = x.doubleAt(k) > 0 ? expected[k] : 0;
      }
      assertArrayEquals(expected, dx.toDoubles(), 0, p.toString());
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"FLOAT", "DOUBLE"})
  void meansAndTheirGradientsAreTheReferences(DType type) {
    double tolerance = type == DType.FLOAT ? 1e-4 : 1e-12;
    for (int i = 0; i < ROUNDS; i++) {
      ImagePool p = pool();
      Tensor x = input(type, p);
      Tensor y = output(type, p);
      p.mean(x, y);
      double[] expected = ReferencePool.forward(p, false, x, (int) y.elements());
      assertArrayEquals(expected, y.toDoubles(), tolerance, p.toString());
      Tensor dy = output(type, p);
      Tensor dx = Tensor.allocate(type, x.shape());
      dx.data().fill((byte) 0);
      p.meanGradient(dy, dx);
      assertArrayEquals(
          ReferencePool.gradient(p, false, x, dy), dx.toDoubles(), tolerance, p.toString());
    }
  }
}
