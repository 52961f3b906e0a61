package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.interop.conformance.Values;
import dev.millrace.interop.conformance.Values.Domain;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Convolutions and poolings. TensorFlow's CPU kernels take them with the channels last. */
public final class ConvolutionCases extends CaseTable {
  /** Batch, height, width, channels; filter height and width, filters; stride; padding. */
  private record Conv(int n, int h, int w, int c, int kh, int kw, int f, int s, String padding) {
    long[] input() {
      return new long[] {n, h, w, c};
    }

    long[] filter() {
      return new long[] {kh, kw, c, f};
    }

    long[] output() {
      boolean same = padding.equals("SAME");
      long oh = same ? (h + s - 1) / s : (h - kh + s) / s;
      long ow = same ? (w + s - 1) / s : (w - kw + s) / s;
      return new long[] {n, oh, ow, f};
    }

    List<Integer> strides() {
      return List.of(1, s, s, 1);
    }
  }

  private static final List<Conv> CONVOLUTIONS =
      List.of(
          new Conv(1, 1, 1, 1, 1, 1, 1, 1, "VALID"),
          new Conv(2, 7, 8, 3, 3, 3, 4, 1, "SAME"),
          new Conv(2, 7, 8, 3, 3, 3, 4, 1, "VALID"),
          new Conv(2, 9, 9, 2, 5, 5, 3, 2, "SAME"),
          new Conv(2, 9, 10, 2, 5, 3, 3, 2, "VALID"),
          new Conv(3, 8, 8, 1, 5, 5, 32, 1, "SAME"),
          new Conv(1, 6, 6, 17, 1, 1, 9, 1, "SAME"),
          new Conv(1, 6, 7, 3, 2, 4, 2, 3, "SAME"),
          new Conv(1, 4, 4, 2, 5, 5, 2, 1, "SAME"),
          new Conv(4, 10, 10, 8, 3, 3, 16, 1, "SAME"));

  public ConvolutionCases() {
    convolutions();
    convolutionErrors();
    depthwise();
    depthwiseGradients();
    pooling();
    poolingGradients();
  }

  private void convolutions() {
    for (Conv c : CONVOLUTIONS) {
      op("Conv2D", floats(c.input()), floats(c.filter()))
          .with("strides", c.strides())
          .with("padding", c.padding())
          .slack(8);
      op("Conv2DBackpropInput", shape(c.input()), floats(c.filter()), floats(c.output()))
          .fixed(0)
          .with("strides", c.strides())
          .with("padding", c.padding())
          .noGradient()
          .slack(8);
      op("Conv2DBackpropFilter", floats(c.input()), shape(c.filter()), floats(c.output()))
          .fixed(1)
          .with("strides", c.strides())
          .with("padding", c.padding())
          .noGradient()
          .slack(8);
    }
    for (DType dtype : List.of(DType.DOUBLE, DType.HALF)) {
      op("Conv2D", any(dtype, 1, 5, 5, 2), any(dtype, 3, 3, 2, 3))
          .with("strides", List.of(1, 1, 1, 1))
          .with("padding", "SAME")
          .slack(8);
    }
    op("Conv2D", floats(1, 9, 9, 2), floats(3, 3, 2, 3))
        .with("strides", List.of(1, 1, 1, 1))
        .with("padding", "VALID")
        .with("dilations", List.of(1, 2, 2, 1))
        .noGradient()
        .slack(8);
    op("Conv2D", floats(1, 5, 5, 2), floats(3, 3, 2, 3))
        .with("strides", List.of(1, 1, 1, 1))
        .with("padding", "EXPLICIT")
        .with("explicit_paddings", List.of(0, 0, 1, 2, 0, 1, 0, 0))
        .noGradient()
        .slack(8);
    op("Conv2D", floats(1, 5, 5, 4), floats(3, 3, 2, 6))
        .with("strides", List.of(1, 1, 1, 1))
        .with("padding", "SAME")
        .noGradient()
        .slack(8);
  }

  private void convolutionErrors() {
    List<Integer> ones = List.of(1, 1, 1, 1);
    op("Conv2D", floats(1, 5, 5, 3), floats(3, 3, 2, 3))
        .with("strides", ones)
        .with("padding", "SAME")
        .fails(Code.INVALID_ARGUMENT);
    // Not told before it runs, TensorFlow's process ends over a wrong rank.
    op("Conv2D", floats(5, 5, 2), floats(3, 3, 2, 3))
        .with("strides", ones)
        .with("padding", "SAME")
        .refused(Code.INVALID_ARGUMENT);
    op("Conv2D", floats(1, 2, 2, 2), floats(3, 3, 2, 3))
        .with("strides", ones)
        .with("padding", "VALID")
        .refused(Code.INVALID_ARGUMENT);
    op("Conv2D", floats(1, 5, 5, 2), floats(3, 3, 2, 3))
        .with("strides", List.of(1, 0, 1, 1))
        .with("padding", "SAME")
        .fails(Code.INVALID_ARGUMENT);
  }

  private void depthwise() {
    List<Integer> ones = List.of(1, 1, 1, 1);
    op("DepthwiseConv2dNative", floats(2, 5, 6, 3), floats(3, 3, 3, 2))
        .with("strides", ones)
        .with("padding", "SAME")
        .slack(8)
        .noGradient();
    op("DepthwiseConv2dNative", floats(1, 7, 7, 2), floats(3, 3, 2, 1))
        .with("strides", List.of(1, 2, 2, 1))
        .with("padding", "VALID")
        .slack(8)
        .noGradient();
  }

  private void depthwiseGradients() {
    for (String padding : List.of("SAME", "VALID")) {
      long out = padding.equals("SAME") ? 6 : 4;
      op(
              "DepthwiseConv2dNativeBackpropInput",
              ints(2, 6, 6, 3),
              floats(3, 3, 3, 2),
              floats(2, out, out, 6))
          .fixed(0)
          .with("strides", List.of(1, 1, 1, 1))
          .with("padding", padding)
          .noGradient()
          .slack(8);
      op(
              "DepthwiseConv2dNativeBackpropFilter",
              floats(2, 6, 6, 3),
              ints(3, 3, 3, 2),
              floats(2, out, out, 6))
          .fixed(1)
          .with("strides", List.of(1, 1, 1, 1))
          .with("padding", padding)
          .noGradient()
          .slack(8);
    }
  }

  private void pooling() {
    int[][] sizes = {
      {1, 4, 4, 19, 2, 2},
      {2, 7, 8, 3, 2, 2},
      {1, 9, 9, 2, 3, 2},
      {1, 5, 5, 2, 3, 1},
      {3, 8, 8, 5, 2, 1}
    };
    for (int[] s : sizes) {
      for (String padding : List.of("SAME", "VALID")) {
        List<Integer> k = List.of(1, s[4], s[4], 1);
        List<Integer> strides = List.of(1, s[5], s[5], 1);
        op("MaxPool", distinct(DType.FLOAT, s[0], s[1], s[2], s[3]))
            .with("ksize", k)
            .with("strides", strides)
            .with("padding", padding);
        op("AvgPool", floats(s[0], s[1], s[2], s[3]))
            .with("ksize", k)
            .with("strides", strides)
            .with("padding", padding)
            .slack(4);
      }
    }
    List<Integer> two = List.of(1, 2, 2, 1);
    op("MaxPool", distinct(DType.FLOAT, 2, 2, 3, 6))
        .with("ksize", List.of(1, 1, 1, 3))
        .with("strides", List.of(1, 1, 1, 3))
        .with("padding", "SAME")
        .noGradient();
    for (DType dtype : Kernels.types("MaxPool", "T")) {
      op("MaxPool", distinct(dtype, 1, 4, 4, 2))
          .with("ksize", two)
          .with("strides", two)
          .with("padding", "VALID");
    }
    for (DType dtype : Kernels.types("AvgPool", "T")) {
      op("AvgPool", any(dtype, 1, 4, 4, 2))
          .with("ksize", two)
          .with("strides", two)
          .with("padding", "VALID");
    }
    for (String op : List.of("MaxPool", "AvgPool")) {
      op(op, floats(4, 4, 2))
          .with("ksize", two)
          .with("strides", two)
          .with("padding", "VALID")
          .refused(Code.INVALID_ARGUMENT);
      op(op, floats(1, 1, 1, 1))
          .with("ksize", two)
          .with("strides", two)
          .with("padding", "VALID")
          .refused(Code.INVALID_ARGUMENT);
    }
  }

  private void poolingGradients() {
    List<Integer> two = List.of(1, 2, 2, 1);
    for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE, DType.HALF)) {
      Tensor x = distinct(dtype, 1, 2, 2, 1);
      Tensor max = Values.filled(dtype, x.elements() == 0 ? 0 : largest(x), 1, 1, 1, 1);
      op("MaxPoolGrad", x, max, any(dtype, 1, 1, 1, 1))
          .with("ksize", two)
          .with("strides", two)
          .with("padding", "VALID")
          .noGradient();
      op("MaxPoolGradGrad", x, max, any(dtype, 1, 2, 2, 1))
          .with("ksize", two)
          .with("strides", two)
          .with("padding", "VALID")
          .noGradient();
      op("AvgPoolGrad", ints(2, 5, 6, 3), any(dtype, 2, 3, 3, 3))
          .fixed(0)
          .with("ksize", two)
          .with("strides", two)
          .with("padding", "SAME")
          .noGradient();
    }
    // Where several elements are the largest, the first of the window gets the gradient.
    op(
            "MaxPoolGrad",
            Values.filled(DType.FLOAT, 1, 1, 4, 4, 1),
            Values.filled(DType.FLOAT, 1, 1, 2, 2, 1),
            floats(1, 2, 2, 1))
        .with("ksize", two)
        .with("strides", two)
        .with("padding", "VALID")
        .noGradient();
    // Where it is NaN or nothing is above minus infinity, the first does.
    Tensor x = values.of(Domain.SPECIAL, DType.FLOAT, Shape.of(6, 2, 2, 16));
    for (int i = 0; i < x.elements() / 6; i++) {
      x.setDouble(i, i % 3 == 0 ? Double.NaN : Double.NEGATIVE_INFINITY);
    }
    op("MaxPoolGrad", x, largestOfEach(x), floats(6, 1, 1, 16))
        .with("ksize", two)
        .with("strides", two)
        .with("padding", "VALID")
        .noGradient();
    op("AvgPoolGrad", ints(1, 5, 5, 2), floats(1, 3, 3, 2))
        .fixed(0)
        .with("ksize", List.of(1, 3, 3, 1))
        .with("strides", List.of(1, 1, 1, 1))
        .with("padding", "VALID")
        .noGradient();
  }

  /** What MaxPool makes of images that are a window each. */
  private static Tensor largestOfEach(Tensor x) {
    Shape s = x.shape();
    Tensor y = Values.filled(DType.FLOAT, -Float.MAX_VALUE, s.dim(0), 1, 1, s.dim(3));
    long image = x.elements() / s.dim(0);
    for (long i = 0; i < x.elements(); i++) {
      long at = i / image * s.dim(3) + i % s.dim(3);
      y.setDouble(at, x.doubleAt(i) > y.doubleAt(at) ? x.doubleAt(i) : y.doubleAt(at));
    }
    return y;
  }

  private static double largest(Tensor t) {
    double max = t.doubleAt(0);
    for (double v : t.toDoubles()) {
      max = Math.max(max, v);
    }
    return max;
  }

  private static Tensor shape(long[] dims) {
    int[] v = new int[dims.length];
    for (int i = 0; i < v.length; i++) {
      v[i] = (int) dims[i];
    }
    return Tensor.of(Shape.of(v.length), v);
  }
}
