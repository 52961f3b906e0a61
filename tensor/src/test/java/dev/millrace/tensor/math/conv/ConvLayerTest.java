package dev.millrace.tensor.math.conv;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Matrices;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.reduce.ChannelSum;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@EnabledIf("dev.millrace.tensor.VectorModule#isPresent")
class ConvLayerTest {
  private static final Window THREE = Window.same(28, 3, 1, 1);
  private static final Window TWO = Window.valid(2, 2, 1);

  private final SplittableRandom random = new SplittableRandom(21);
  private int threads;

  @BeforeEach
  void rememberThreads() {
    threads = Parallel.threads();
  }

  @AfterEach
  void restoreThreads() {
    Parallel.setThreads(threads);
  }

  /**
   * One image, a few, and so many that they are computed in several lots and some are left over.
   */
  @ParameterizedTest
  @ValueSource(ints = {1, 9})
  void aLayerIsWhatItsPartsAreOneAfterTheOther(int batch) {
    for (int t : new int[] {1, 3}) {
      Parallel.setThreads(t);
      check(layer(batch, 28, 2, 32, TWO));
    }
  }

  @Test
  void windowsMayOverlapAndReachBeyondTheImage() {
    check(layer(3, 9, 16, 16, Window.same(9, 3, 2, 1)));
    check(layer(2, 7, 4, 48, Window.same(7, 2, 2, 1)));
  }

  /** Windows that tile, overlap, leave a rest; strips that the loop takes whole and in parts. */
  @Test
  void gradientsOfTheLargestAloneAreThoseOfAll() {
    for (int t : new int[] {1, 3}) {
      Parallel.setThreads(t);
      checkSparse(layer(9, 14, 32, 64, TWO));
      checkSparse(layer(2, 12, 32, 16, Window.same(12, 3, 2, 1)));
      checkSparse(layer(3, 9, 96, 32, TWO));
      checkSparse(layer(2, 28, 32, 16, Window.valid(3, 3, 1)));
    }
  }

  private void checkSparse(ConvLayer layer) {
    assertTrue(isSparse(layer));
    check(layer);
  }

  @Test
  void whereTheLargestAreManyAllIsComputed() {
    assertFalse(isSparse(layer(2, 9, 32, 16, Window.same(9, 2, 1, 1))));
    assertFalse(isSparse(layer(2, 8, 2, 16, TWO)));
  }

  private static boolean isSparse(ConvLayer layer) {
    return new PooledConv(layer.conv(), layer.pool()).isWorthIt();
  }

  /** The first window of the second image has no number in it. */
  @Test
  void whatIsNotANumberStaysSoUntilItIsPooled() {
    ConvLayer layer = layer(2, 4, 1, 16, TWO);
    Arrays of = new Arrays(layer);
    of.x.setDouble(16, Double.NaN);
    of.forward();
    assertTrue(Double.isNaN(of.y.doubleAt(16 * 16)));
    assertEquals(-Float.MAX_VALUE, of.pooled.doubleAt(4 * 16));
    assertTrue(of.pooled.doubleAt(0) >= 0);
  }

  @Test
  void channelsThatDoNotFillVectorsAreNotSupported() {
    assertFalse(layer(2, 4, 1, 17, TWO).isSupported());
    assertFalse(layer(0, 4, 1, 16, TWO).isSupported());
    assertTrue(layer(2, 4, 1, 16, TWO).isSupported());
  }

  private static ConvLayer layer(int batch, int size, int channels, int filters, Window window) {
    return new ConvLayer(
        new Conv2D(DType.FLOAT, batch, size, size, channels, filters, THREE, THREE),
        true,
        new ImagePool(batch, size, size, filters, window, window));
  }

  /** Everything a layer reads and writes. */
  private final class Arrays {
    final ConvLayer layer;
    final Tensor x;
    final Tensor filter;
    final Tensor bias;
    final Tensor y;
    final Tensor pooled;
    final Tensor dPooled;
    final Tensor dx;
    final Tensor dFilter;
    final Tensor dBias;

    Arrays(ConvLayer layer) {
      Conv2D c = layer.conv();
      ImagePool p = layer.pool();
      this.layer = layer;
      x = Matrices.random(DType.FLOAT, random, c.batch(), c.height(), c.width(), c.channels());
      filter = Matrices.random(DType.FLOAT, random, 3, 3, c.channels(), c.filters());
      bias = Matrices.random(DType.FLOAT, random, c.filters());
      y = Matrices.random(DType.FLOAT, random, c.batch(), c.height(), c.width(), c.filters());
      long[] small = {c.batch(), p.outputHeight(), p.outputWidth(), c.filters()};
      pooled = Matrices.random(DType.FLOAT, random, small);
      dPooled = Matrices.random(DType.FLOAT, random, small);
      dx = Tensor.allocate(DType.FLOAT, x.shape());
      dFilter = Tensor.allocate(DType.FLOAT, filter.shape());
      dBias = Tensor.allocate(DType.FLOAT, bias.shape());
    }

    void forward() {
      layer.forward(x.data(), filter.data(), bias.data(), y.data(), pooled.data());
    }

    void backward(boolean toInput) {
      layer.backward(
          x.data(),
          filter.data(),
          y.data(),
          pooled.data(),
          dPooled.data(),
          toInput ? dx.data() : null,
          dFilter.data(),
          dBias.data());
    }
  }

  private void check(ConvLayer layer) {
    Conv2D c = layer.conv();
    Arrays a = new Arrays(layer);
    a.forward();
    Tensor y = Tensor.allocate(DType.FLOAT, a.y.shape());
    c.forward(a.x.data(), a.filter.data(), y.data());
    ChannelBias.add(y, a.bias, true, y);
    assertClose(y, a.y, 1e-4, "output");
    Tensor pooled = Tensor.allocate(DType.FLOAT, a.pooled.shape());
    layer.pool().max(a.y, pooled);
    assertClose(pooled, a.pooled, 0, "pooled");

    Tensor dy = Tensor.allocate(DType.FLOAT, y.shape());
    layer.pool().maxGradient(a.y, a.pooled, a.dPooled, true, dy);
    Tensor dx = Tensor.allocate(DType.FLOAT, a.x.shape());
    Tensor dFilter = Tensor.allocate(DType.FLOAT, a.filter.shape());
    Tensor dBias = Tensor.allocate(DType.FLOAT, Shape.of(c.filters()));
    c.backwardInput(dx.data(), a.filter.data(), dy.data());
    c.backwardFilter(a.x.data(), dFilter.data(), dy.data());
    ChannelSum.run(dy, dBias, dy.elements() / c.filters(), c.filters(), 1);
    a.backward(true);
    assertClose(dx, a.dx, 1e-4, "gradient of the input");
    assertClose(dFilter, a.dFilter, 1e-2, "gradient of the filter");
    assertClose(dBias, a.dBias, 1e-2, "gradient of the bias");
    a.dFilter.data().fill((byte) 0);
    a.backward(false);
    assertClose(dFilter, a.dFilter, 1e-2, "gradient of the filter alone");
  }

  private static void assertClose(Tensor expected, Tensor found, double tolerance, String what) {
    for (long i = 0; i < expected.elements(); i++) {
      assertEquals(expected.doubleAt(i), found.doubleAt(i), tolerance, what + " " + i);
    }
  }
}
