package dev.millrace.tensor.math.conv;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Matrices;
import dev.millrace.tensor.math.ReferenceConv;
import dev.millrace.tensor.math.onednn.OneDnn;
import java.lang.foreign.MemorySegment;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class Conv2DTest {
  @ParameterizedTest
  @EnumSource(names = {"FLOAT", "DOUBLE", "HALF", "BFLOAT16", "INT32"})
  void randomConvolutionsEqualTheReference(DType type) {
    SplittableRandom random = new SplittableRandom(11);
    for (int i = 0; i < 25; i++) {
      check(randomConv(type, random), random, Conv2DTest::run);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"FLOAT", "DOUBLE"})
  void matrixConvolutionsEqualTheReference(DType type) {
    SplittableRandom random = new SplittableRandom(12);
    for (int i = 0; i < 40; i++) {
      check(
          randomConv(type, random),
          random,
          (c, result, x, w, y) -> MatrixConv.runs(c, result, w, true).run(x, y));
    }
  }

  @Test
  void layersOfARealNetworkEqualTheReference() {
    SplittableRandom random = new SplittableRandom(13);
    Window five = Window.same(28, 5, 1, 1);
    check(new Conv2D(DType.FLOAT, 5, 28, 28, 1, 32, five, five), random, Conv2DTest::run);
    five = Window.same(14, 5, 1, 1);
    check(new Conv2D(DType.FLOAT, 5, 14, 14, 32, 64, five, five), random, Conv2DTest::run);
    Window seven = Window.same(32, 7, 2, 1);
    check(new Conv2D(DType.FLOAT, 3, 32, 32, 3, 16, seven, seven), random, Conv2DTest::run);
    Window one = Window.valid(1, 1, 1);
    check(new Conv2D(DType.FLOAT, 3, 9, 9, 24, 40, one, one), random, Conv2DTest::run);
    Window dilated = Window.same(17, 3, 1, 2);
    check(new Conv2D(DType.FLOAT, 3, 17, 17, 8, 8, dilated, dilated), random, Conv2DTest::run);
  }

  @Test
  void oneDnnCompilesTheUsualShapes() {
    assumeTrue(OneDnn.isAvailable());
    for (ConvResult result : ConvResult.values()) {
      for (int size : new int[] {1, 3, 5, 7}) {
        for (int stride : new int[] {1, 2}) {
          Window w = Window.same(28, size, stride, 1);
          assertNotNull(OneDnnConv.of(new Conv2D(DType.FLOAT, 4, 28, 28, 16, 32, w, w), result));
          assertNotNull(OneDnnConv.of(new Conv2D(DType.FLOAT, 4, 28, 28, 1, 32, w, w), result));
        }
      }
    }
  }

  @Test
  void theSameConvolutionTwiceIsTheSameToTheBit() {
    SplittableRandom random = new SplittableRandom(14);
    Window three = Window.same(12, 3, 1, 1);
    Conv2D c = new Conv2D(DType.FLOAT, 9, 12, 12, 8, 24, three, three);
    Tensor x = Matrices.random(DType.FLOAT, random, 9, 12, 12, 8);
    Tensor y = Matrices.random(DType.FLOAT, random, 9, 12, 12, 24);
    Tensor first = Tensor.allocate(DType.FLOAT, Shape.of(3, 3, 8, 24));
    Tensor again = Tensor.allocate(DType.FLOAT, Shape.of(3, 3, 8, 24));
    c.backwardFilter(x.data(), first.data(), y.data());
    for (int i = 0; i < 20; i++) {
      c.backwardFilter(x.data(), again.data(), y.data());
      assertEquals(-1, first.data().mismatch(again.data()));
    }
  }

  @Test
  void emptyConvolutionsGiveZeros() {
    Window three = Window.valid(3, 1, 1);
    Conv2D none = new Conv2D(DType.FLOAT, 0, 5, 5, 1, 1, three, three);
    Tensor filter = Tensor.vector(1f, 2, 3, 4, 5, 6, 7, 8, 9);
    Tensor nothing = Tensor.allocate(DType.FLOAT, Shape.of(0));
    none.backwardFilter(nothing.data(), filter.data(), nothing.data());
    assertEquals(0, filter.doubleAt(4));
    Conv2D tooSmall = new Conv2D(DType.FLOAT, 1, 2, 2, 1, 1, three, three);
    Tensor input = Tensor.vector(1f, 2, 3, 4);
    assertEquals(0, tooSmall.outputHeight());
    tooSmall.backwardInput(input.data(), filter.data(), nothing.data());
    assertEquals(0, input.doubleAt(3));
  }

  @Test
  void samePaddingIsTensorFlows() {
    assertEquals(new Window(5, 1, 1, 2, 2), Window.same(28, 5, 1, 1));
    assertEquals(new Window(2, 2, 1, 0, 1), Window.same(7, 2, 2, 1));
    assertEquals(new Window(3, 2, 1, 0, 1), Window.same(28, 3, 2, 1));
    assertEquals(new Window(2, 3, 1, 0, 0), Window.same(6, 2, 3, 1));
    assertEquals(14, Window.same(28, 3, 2, 1).outputs(28));
    assertEquals(13, Window.valid(3, 2, 1).outputs(28));
  }

  @Test
  void memoryThatIsTooSmallIsRefused() {
    Window one = Window.valid(1, 1, 1);
    MemorySegment four = Tensor.vector(1f, 2, 3, 4).data();
    Conv2D c = new Conv2D(DType.FLOAT, 1, 2, 2, 1, 2, one, one);
    assertThrows(IllegalArgumentException.class, () -> c.forward(four, four, four));
  }

  @Test
  void otherIntegersAreRefused() {
    Window one = Window.valid(1, 1, 1);
    assertThrows(MillraceException.class, () -> new Conv2D(DType.INT16, 1, 2, 2, 1, 2, one, one));
    MemorySegment four = Tensor.vector(1, 2, 3, 4).data();
    Conv2D ints = new Conv2D(DType.INT32, 1, 2, 2, 1, 1, one, one);
    assertThrows(MillraceException.class, () -> ints.backwardFilter(four, four, four));
  }

  private interface Runner {
    void run(Conv2D c, ConvResult r, MemorySegment x, MemorySegment w, MemorySegment y);
  }

  private static void run(
      Conv2D c, ConvResult result, MemorySegment x, MemorySegment w, MemorySegment y) {
    switch (result) {
      case OUTPUT -> c.forward(x, w, y);
      case INPUT -> c.backwardInput(x, w, y);
      case FILTER -> c.backwardFilter(x, w, y);
    }
  }

  private static Conv2D randomConv(DType type, SplittableRandom random) {
    int height = random.nextInt(1, 14);
    int width = random.nextInt(1, 14);
    int[] sizes = {1, 2, 3, 4, 8, 16, 17, 32};
    int channels = sizes[random.nextInt(sizes.length)];
    int filters = sizes[random.nextInt(sizes.length)];
    int[] groups = {1, 2, 3, 4};
    int g = groups[random.nextInt(groups.length)];
    if (random.nextInt(4) == 0) {
      filters *= channels;
      g = channels;
    }
    return new Conv2D(
        type,
        random.nextInt(1, 6),
        height,
        width,
        channels,
        filters,
        channels % g == 0 && filters % g == 0 ? g : 1,
        randomWindow(height, random),
        randomWindow(width, random));
  }

  private static Window randomWindow(int input, SplittableRandom random) {
    int stride = random.nextInt(1, 4);
    int dilation = random.nextInt(3) == 0 ? 2 : 1;
    int size = random.nextInt(1, 6);
    while ((size - 1) * dilation >= input) {
      size--;
    }
    return switch (random.nextInt(3)) {
      case 0 -> Window.valid(size, stride, dilation);
      case 1 -> Window.same(input, size, stride, dilation);
      default -> new Window(size, stride, dilation, random.nextInt(5), random.nextInt(5));
    };
  }

  private static void check(Conv2D c, SplittableRandom random, Runner runner) {
    Tensor x = Matrices.random(c.type(), random, c.batch(), c.height(), c.width(), c.channels());
    Tensor w =
        Matrices.random(
            c.type(),
            random,
            c.rows().size(),
            c.columns().size(),
            c.channels() / c.groups(),
            c.filters());
    Tensor y =
        Matrices.random(
            c.type(), random, c.batch(), c.outputHeight(), c.outputWidth(), c.filters());
    for (ConvResult result : ConvResult.values()) {
      if (c.type() == DType.INT32 && result == ConvResult.FILTER) {
        continue;
      }
      double[] expected = ReferenceConv.of(c, result, x, w, y);
      Tensor changed =
          switch (result) {
            case OUTPUT -> y;
            case INPUT -> x;
            case FILTER -> w;
          };
      Tensor found = changed.copy();
      runner.run(
          c,
          result,
          result == ConvResult.INPUT ? found.data() : x.data(),
          result == ConvResult.FILTER ? found.data() : w.data(),
          result == ConvResult.OUTPUT ? found.data() : y.data());
      long terms =
          switch (result) {
            case OUTPUT -> (long) c.rows().size() * c.columns().size() * c.channels();
            case INPUT -> (long) c.rows().size() * c.columns().size() * c.filters();
            case FILTER -> (long) c.batch() * c.outputHeight() * c.outputWidth();
          };
      double tolerance =
          switch (c.type()) {
            case FLOAT -> 3e-7 * (terms + 8);
            case DOUBLE -> 1e-15 * (terms + 8);
            case HALF -> 2e-3 * Math.sqrt(terms + 1.0);
            case INT32 -> 0;
            default -> 2e-2 * Math.sqrt(terms + 1.0);
          };
      for (int i = 0; i < expected.length; i++) {
        double f = found.doubleAt(i);
        if (!(Math.abs(f - expected[i]) <= tolerance)) {
          assertEquals(expected[i], f, tolerance, result + " of " + c + ", element " + i);
        }
      }
      found.close();
    }
    x.close();
    w.close();
    y.close();
  }
}
