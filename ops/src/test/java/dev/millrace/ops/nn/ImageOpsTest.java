package dev.millrace.ops.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.ops.Evaluator;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ImageOpsTest {
  private final Scope s = Scope.of(StandardOps.newGraph());

  private static float[] wave(int n, double step) {
    float[] v = new float[n];
    for (int i = 0; i < n; i++) {
      v[i] = (float) Math.sin(i * step);
    }
    return v;
  }

  private Output image(float... v) {
    int side = (int) Math.sqrt(v.length);
    return Const.of(s, Tensor.of(Shape.of(1, side, side, 1), v));
  }

  private float[] run(Output out) {
    return Evaluator.run(out).toFloats();
  }

  @Test
  void convolutionPadsTheSmallerHalfFirst() {
    Output filter = Const.of(s, Tensor.of(Shape.of(2, 2, 1, 1), 1, 10, 100, 1000f));
    Output x = image(1, 2, 3, 4);
    assertArrayEquals(
        new float[] {4321, 402, 43, 4}, run(ConvolutionOps.of(s, x, filter, 1, "SAME")));
    assertArrayEquals(new float[] {4321}, run(ConvolutionOps.of(s, x, filter, 1, "VALID")));
  }

  private Node depthPool(long[] size, long[] strides) {
    float[] v = {1, 5, 2, 3, 4, 9, 7, 8};
    return s.node("MaxPool")
        .input(Const.of(s, Tensor.of(Shape.of(1, 1, 2, 4), v)))
        .attr("ksize", size)
        .attr("strides", strides)
        .attr("padding", "SAME")
        .add();
  }

  @Test
  void aWindowMayLieOverChannels() {
    Output pooled = depthPool(new long[] {1, 1, 1, 2}, new long[] {1, 1, 1, 2}).output();
    assertEquals(Shape.of(1, 1, 2, 2), pooled.shape());
    assertArrayEquals(new float[] {5, 3, 9, 8}, run(pooled));
    assertUnimplemented("exactly one of", new long[] {1, 2, 2, 2}, new long[] {1, 1, 1, 2});
    assertUnimplemented(
        "depth window to equal the depth stride", new long[] {1, 1, 1, 2}, new long[] {1, 1, 1, 1});
    assertUnimplemented("evenly divide", new long[] {1, 1, 1, 3}, new long[] {1, 1, 1, 3});
  }

  private void assertUnimplemented(String why, long[] size, long[] strides) {
    MillraceException e =
        assertThrows(MillraceException.class, () -> run(depthPool(size, strides).output()));
    assertEquals(Code.UNIMPLEMENTED, e.code());
    assertTrue(e.getMessage().contains(why), e.getMessage());
  }

  @Test
  void windowThatDoesNotFitIsRefusedWhileBuilding() {
    Output filter = Const.of(s, Tensor.of(Shape.of(4, 1, 1, 1), 1, 1, 1, 1f));
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () -> ConvolutionOps.of(s, image(1, 2, 3, 4), filter, 1, "VALID"));
    assertTrue(e.getMessage().contains("Negative dimension size"), e.getMessage());
  }

  @Test
  void shapesFollowAsFarAsKnown() {
    Output x = Placeholder.of(s, DType.FLOAT, Shape.of(-1, 28, -1, 3));
    Output filter = Placeholder.of(s, DType.FLOAT, Shape.of(5, 5, 3, 8));
    assertEquals(Shape.of(-1, 14, -1, 8), ConvolutionOps.of(s, x, filter, 2, "SAME").shape());
    assertEquals(Shape.of(-1, 24, -1, 8), ConvolutionOps.of(s, x, filter, 1, "VALID").shape());
    assertEquals(Shape.of(-1, 13, -1, 3), Pool.max(s, x, 3, 2, "VALID").shape());
    assertEquals(Shape.of(-1, 28, -1, 24), Depthwise.of(s, x, filter, 1, "SAME").shape());
  }

  @Test
  void channelsSecondIsRefusedWhenTheKernelIsMade() {
    Output x = Placeholder.of(s, DType.FLOAT, Shape.of(1, 3, 8, 8));
    Node n =
        s.node(Pool.AVERAGE)
            .input(x)
            .attr("ksize", List.of(1, 1, 2, 2))
            .attr("strides", List.of(1, 1, 2, 2))
            .attr("padding", "VALID")
            .attr("data_format", "NCHW")
            .add();
    assertEquals(Shape.of(1, 3, 4, 4), n.output().shape());
    assertThrows(MillraceException.class, () -> n.op().kernelFor(n));
  }

  @Test
  void meanOfAWindowCountsOnlyTheImage() {
    assertArrayEquals(
        new float[] {2.5f, 3, 3.5f, 4}, run(Pool.average(s, image(1, 2, 3, 4), 2, 1, "SAME")));
  }

  @Test
  void gradientOfTheLargestGoesToTheFirstOfSeveral() {
    Output x = image(5, 5, 5, 5);
    Output y = Pool.max(s, x, 2, 2, "VALID");
    Output dy = image(3);
    Node dx =
        s.node(Pool.MAX_GRAD)
            .input(x)
            .input(y)
            .input(dy)
            .attr("ksize", List.of(1, 2, 2, 1))
            .attr("strides", List.of(1, 2, 2, 1))
            .attr("padding", "VALID")
            .add();
    assertArrayEquals(new float[] {3, 0, 0, 0}, run(dx.output()));
  }

  /** Many channels take the vector loops, doubles do not. */
  @Test
  void poolingOfFloatsAgreesWithDoubles() {
    Shape shape = Shape.of(2, 7, 6, 37);
    float[] v = wave((int) shape.elements(), .7);
    Tensor floats = Tensor.of(shape, v);
    Tensor doubles = Tensor.allocate(DType.DOUBLE, shape);
    for (int i = 0; i < v.length; i++) {
      doubles.setDouble(i, v[i]);
    }
    for (String padding : List.of("SAME", "VALID")) {
      for (Op2 op : List.<Op2>of(Pool::max, Pool::average)) {
        Output f = op.of(s, Const.of(s, floats), 3, 2, padding);
        Output d = op.of(s, Const.of(s, doubles), 3, 2, padding);
        assertArrayEquals(run(d), run(f), 1e-6f);
        Output df = gradient(f);
        Output dd = gradient(d);
        assertArrayEquals(run(dd), run(df), 1e-5f);
      }
    }
  }

  private interface Op2 {
    Output of(Scope s, Output x, int size, int stride, String padding);
  }

  private Output gradient(Output y) {
    return Gradients.dense(s, Gradients.of(s, List.of(y), List.of(y.node().input(0))).getFirst());
  }

  /** Sums of products with the input, and statistics, as TensorFlow 2.21 computes them. */
  @Test
  void batchNormIsTensorFlows() {
    Tensor x = Tensor.of(Shape.of(2, 3, 2, 5), wave(60, .7));
    Output scale = Const.of(s, Tensor.vector(.5f, .75f, 1, 1.25f, 1.5f));
    Output offset = Const.of(s, Tensor.vector(-1, -.5f, 0, .5f, 1));
    Output mean = Const.of(s, Tensor.vector(0, .1f, .2f, .3f, .4f));
    Output variance = Const.of(s, Tensor.vector(.5f, .725f, .95f, 1.175f, 1.4f));
    Output empty = Const.of(s, Tensor.vector(new float[0]));
    Node train = norm(Const.of(s, x), scale, offset, empty, empty, true, 1);
    assertEquals(40.85094, product(train.output(0), x), 1e-4);
    assertArrayEquals(
        new float[] {.02762f, .06316f, .069f, .04238f, -.00417f}, run(train.output(1)), 1e-5f);
    assertArrayEquals(
        new float[] {.46195f, .61108f, .64672f, .50971f, .42749f}, run(train.output(2)), 1e-5f);
    assertArrayEquals(
        new float[] {.42346f, .56016f, .59282f, .46723f, .39187f}, run(train.output(4)), 1e-5f);
    Node moved = norm(Const.of(s, x), scale, offset, mean, variance, true, .25f);
    assertArrayEquals(
        new float[] {.00691f, .09079f, .16725f, .2356f, .29896f}, run(moved.output(1)), 1e-5f);
    assertArrayEquals(
        new float[] {.49049f, .69652f, .87418f, 1.00868f, 1.15687f}, run(moved.output(2)), 1e-5f);
    Node apply = norm(Const.of(s, x), scale, offset, mean, variance, false, 1);
    assertEquals(28.462353, product(apply.output(0), x), 1e-4);
    assertArrayEquals(run(mean), run(apply.output(1)));
  }

  @Test
  void gradientOfBatchNormIsTensorFlows() {
    Tensor x = Tensor.of(Shape.of(2, 3, 2, 5), wave(60, .7));
    float[] cos = new float[60];
    for (int i = 0; i < 60; i++) {
      cos[i] = (float) Math.cos(i * .3);
    }
    Output dy = Const.of(s, Tensor.of(x.shape(), cos));
    Output scale = Const.of(s, Tensor.vector(.5f, .75f, 1, 1.25f, 1.5f));
    Output zero = Const.of(s, Tensor.vector(0, 0, 0, 0, 0f));
    Output empty = Const.of(s, Tensor.vector(new float[0]));
    Node y = norm(Const.of(s, x), scale, zero, empty, empty, true, 1);
    for (boolean training : new boolean[] {true, false}) {
      Node g =
          s.node(FusedBatchNorm.GRAD_V3)
              .input(dy)
              .input(Const.of(s, x))
              .input(scale)
              .input(y.output(3))
              .input(y.output(4))
              .input(y.output(5))
              .attr("epsilon", .001f)
              .attr("is_training", training)
              .add();
      assertEquals(training ? .0052912 : 2.7881367, product(g.output(0), x), 1e-5);
      assertArrayEquals(
          new float[] {-.38668f, .67053f, 1.3404f, 1.15973f, -.13171f}, run(g.output(1)), 1e-5f);
      assertArrayEquals(
          new float[] {-.23322f, -.38765f, -.50745f, -.58192f, -.60441f}, run(g.output(2)), 1e-5f);
    }
  }

  /** In TensorFlow too: what is rounded is no more than the images and their gradients. */
  @ParameterizedTest
  @EnumSource(names = {"HALF", "BFLOAT16"})
  void secondGradientOfBatchNormIsThatOfFloatsRounded(DType type) {
    double precision = type == DType.HALF ? 0x1p-11 : 0x1p-8;
    for (String format : List.of("NHWC", "NCHW")) {
      for (boolean training : new boolean[] {true, false}) {
        List<Tensor> exact = secondGradient(DType.FLOAT, format, training);
        List<Tensor> rounded = secondGradient(type, format, training);
        for (int i = 0; i < 3; i++) {
          assertEquals(i == 2 ? DType.FLOAT : type, rounded.get(i).dtype());
          double[] e = exact.get(i).toDoubles();
          double largest = Arrays.stream(e).map(Math::abs).max().orElseThrow();
          assertTrue(largest > 0.1, "nothing comes back for input " + i);
          double tolerance = largest * (i == 2 ? 1e-6 : precision);
          assertArrayEquals(e, rounded.get(i).toDoubles(), tolerance, format + " input " + i);
        }
      }
    }
  }

  /** Of all three outputs of the gradient by dy, x and the scale. */
  private List<Tensor> secondGradient(DType type, String format, boolean training) {
    Tensor images = Tensor.allocate(type, Shape.of(3, 2, 2, 2));
    Tensor gradients = Tensor.allocate(type, images.shape());
    Tensor weights = Tensor.allocate(type, images.shape());
    for (int i = 0; i < images.elements(); i++) {
      // Eighths, which every type holds.
      images.setDouble(i, (i * 7 % 24 - 12) / 8.0);
      gradients.setDouble(i, (i * 5 % 24 - 9) / 8.0);
      weights.setDouble(i, (i * 11 % 24 - 14) / 8.0);
    }
    Output x = Const.of(s, images);
    Output dy = Const.of(s, gradients);
    Output scale = Const.of(s, Tensor.vector(.75f, 1.5f));
    Output mean = Const.of(s, Tensor.vector(.125f, -.25f));
    Output variance = Const.of(s, Tensor.vector(.5f, 2f));
    Node g =
        s.node(FusedBatchNorm.GRAD_V3)
            .input(dy)
            .input(x)
            .input(scale)
            .input(mean)
            .input(variance)
            .input(Const.of(s, Tensor.vector(new float[0])))
            .attr("data_format", format)
            .attr("is_training", training)
            .add();
    Output weighted = Arithmetic.mul(s, g.output(0), Const.of(s, weights));
    List<Output> ys = List.of(weighted, g.output(1), g.output(2));
    return Gradients.of(s, ys, List.of(dy, x, scale)).stream()
        .map(grad -> Evaluator.run(Gradients.dense(s, grad)))
        .toList();
  }

  /** Channels second give the same as channels last. */
  @Test
  void batchNormTakesBothFormats() {
    Tensor x = Tensor.of(Shape.of(2, 33, 1, 3), wave(198, .7));
    Tensor t = Tensor.allocate(DType.FLOAT, Shape.of(2, 3, 33, 1));
    for (int n = 0; n < 2; n++) {
      for (int i = 0; i < 33; i++) {
        for (int c = 0; c < 3; c++) {
          t.setDouble((n * 3 + c) * 33 + i, x.doubleAt((n * 33 + i) * 3 + c));
        }
      }
    }
    Output one = Const.of(s, Tensor.vector(1, 2, 3f));
    Output empty = Const.of(s, Tensor.vector(new float[0]));
    Node last = norm(Const.of(s, x), one, one, empty, empty, true, 1);
    Node second =
        s.node(FusedBatchNorm.V3)
            .input(Const.of(s, t))
            .input(one)
            .input(one)
            .input(empty)
            .input(empty)
            .attr("epsilon", .001f)
            .attr("data_format", "NCHW")
            .add();
    assertArrayEquals(run(last.output(1)), run(second.output(1)), 1e-6f);
    assertArrayEquals(run(last.output(2)), run(second.output(2)), 1e-6f);
    assertEquals(product(last.output(0), x), product(second.output(0), t), 1e-4);
  }

  @Test
  void responseNormIsTensorFlows() {
    Tensor x = Tensor.of(Shape.of(2, 3, 2, 5), wave(60, .7));
    float[] cos = new float[60];
    for (int i = 0; i < 60; i++) {
      cos[i] = (float) Math.cos(i * .3);
    }
    Tensor dy = Tensor.of(x.shape(), cos);
    Node y = lrn(s.node(Lrn.OP).input(Const.of(s, x)));
    assertEquals(1.1350571, product(y.output(), dy), 1e-5);
    Node dx = lrn(s.node(Lrn.GRAD).input(Const.of(s, dy)).input(Const.of(s, x)).input(y.output()));
    assertEquals(14.853004, product(dx.output(), dy), 1e-4);
  }

  private static Node lrn(NodeBuilder b) {
    return b.attr("depth_radius", 1).attr("bias", 1.5f).attr("alpha", .3f).attr("beta", .7f).add();
  }

  private Node norm(
      Output x, Output scale, Output offset, Output m, Output v, boolean training, float factor) {
    return s.node(FusedBatchNorm.V3)
        .input(x)
        .input(scale)
        .input(offset)
        .input(m)
        .input(v)
        .attr("epsilon", .001f)
        .attr("is_training", training)
        .attr("exponential_avg_factor", factor)
        .add();
  }

  private double product(Output a, Tensor b) {
    Tensor v = Evaluator.run(a);
    double sum = 0;
    for (long i = 0; i < b.elements(); i++) {
      sum += v.doubleAt(i) * b.doubleAt(i);
    }
    return sum;
  }
}
