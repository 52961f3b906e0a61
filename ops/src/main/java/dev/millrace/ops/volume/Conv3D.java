package dev.millrace.ops.volume;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import java.util.List;

/** Convolution of volumes with filters of depth, height, width, input and output channels. */
final class Conv3D {
  static final Op OP =
      define("Conv3D")
          .input("input: T")
          .input("filter: T")
          .output("output: T")
          .shape(Conv3D::infer)
          .kernel(Conv3D::forward)
          .gradient(
              g -> {
                g.dx(0, ofInput(g, ShapeOf.of(g.scope(), g.input(0)), g.input(1), g.dy()));
                g.dx(1, ofFilter(g, g.input(0), ShapeOf.of(g.scope(), g.input(1)), g.dy()));
              })
          .build();

  static final Op OF_INPUT =
      define("Conv3DBackpropInputV2")
          .attr("Tshape: {int32, int64} = int32")
          .input("input_sizes: Tshape")
          .input("filter: T")
          .input("out_backprop: T")
          .output("output: T")
          .shape(c -> List.of(sized(c, 0)))
          .kernel(Conv3D::backToInput)
          .gradient(
              g -> {
                g.dx(1, ofFilter(g, g.dy(), ShapeOf.of(g.scope(), g.input(1)), g.input(2)));
                g.dx(2, convolution(g, g.dy(), g.input(1)));
              })
          .build();

  static final Op OF_FILTER =
      define("Conv3DBackpropFilterV2")
          .input("input: T")
          .input("filter_sizes: int32")
          .input("out_backprop: T")
          .output("output: T")
          .shape(c -> List.of(sized(c, 1)))
          .kernel(Conv3D::backToFilter)
          .gradient(
              g -> {
                g.dx(0, ofInput(g, ShapeOf.of(g.scope(), g.input(0)), g.dy(), g.input(2)));
                g.dx(2, convolution(g, g.input(0), g.dy()));
              })
          .build();

  static final List<Op> ALL = List.of(OP, OF_INPUT, OF_FILTER);

  private Conv3D() {}

  private static Op.Builder define(String name) {
    return Op.define(name)
        .attr("T: {half, bfloat16, float, double}")
        .attr("strides: list(int) >= 5")
        .attr("padding: {'SAME', 'VALID'}")
        .attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
        .attr("dilations: list(int) = [1, 1, 1, 1, 1]");
  }

  private static Output attributed(NodeBuilder b, Node from) {
    for (String attr : List.of("strides", "padding", "data_format", "dilations")) {
      b.attr(attr, from.attr(attr));
    }
    return b.add().output();
  }

  private static Output convolution(GradientContext g, Output x, Output filter) {
    Scope s = g.scope();
    return attributed(s.node("Conv3D").input(x).input(filter), g.node());
  }

  private static Output ofInput(GradientContext g, Output sizes, Output filter, Output dy) {
    Scope s = g.scope();
    NodeBuilder b = s.node("Conv3DBackpropInputV2").input(sizes).input(filter).input(dy);
    return attributed(b, g.node());
  }

  private static Output ofFilter(GradientContext g, Output x, Output sizes, Output dy) {
    Scope s = g.scope();
    NodeBuilder b = s.node("Conv3DBackpropFilterV2").input(x).input(sizes).input(dy);
    return attributed(b, g.node());
  }

  private static List<Shape> infer(ShapeContext c) {
    Shape x = c.inputOfRank(0, 5);
    Shape f = c.inputOfRank(1, 5);
    boolean first = c.node().stringAttr("data_format").equals("NCDHW");
    int[] strides = first ? null : Sliding.spatial(c.node(), "strides");
    if (first) {
      return List.of(Shape.unknownOfRank(5));
    }
    int[] dilations = Sliding.spatial(c.node(), "dilations");
    checkChannels(x, f);
    long[] d = {x.dim(0), 0, 0, 0, f.dim(4)};
    for (int i = 0; i < 3; i++) {
      d[i + 1] = Sliding.size(c.node(), x.dim(i + 1), f.dim(i), strides[i], dilations[i]);
    }
    return List.of(Shape.of(d));
  }

  private static void checkChannels(Shape x, Shape f) {
    if (x.dim(4) >= 0 && f.dim(3) > 0 && x.dim(4) % f.dim(3) != 0) {
      throw MillraceException.invalid(
          "Depth of input (%d) is not a multiple of input depth of filter (%d)",
          x.dim(4), f.dim(3));
    }
  }

  private static Shape sized(ShapeContext c, int input) {
    Shape s = c.constantAsShape(input);
    if (!s.hasRank()) {
      return Shape.unknownOfRank(5);
    }
    return s.mergeWith(Shape.unknownOfRank(5));
  }

  /** Arrays and sizes of one convolution. */
  private static final class Work {
    final Sliding sliding;
    final int batch;
    final int inputs;
    final int outputs;

    Work(Node node, Shape x, Shape f, Shape y) {
      if (x.rank() != 5 || f.rank() != 5) {
        throw MillraceException.invalid(
            "%s needs a volume and a filter of 5 dimensions: %s, %s", node.op().name(), x, f);
      }
      if (f.elements() == 0) {
        throw MillraceException.invalid(
            "filter must not have zero elements (i.e. all dimensions must be non-zero): %s", f);
      }
      if (x.dim(4) != f.dim(3)) {
        throw MillraceException.invalid(
            "input and filter must have the same number of channels: %s, %s", x, f);
      }
      int[] window = {(int) f.dim(0), (int) f.dim(1), (int) f.dim(2)};
      sliding = Sliding.of(node, x, window);
      batch = Math.toIntExact(x.dim(0));
      inputs = Math.toIntExact(x.dim(4));
      outputs = Math.toIntExact(f.dim(4));
      Shape wanted = result();
      if (y != null && !y.equals(wanted)) {
        throw MillraceException.invalid(
            "%s: out_backprop has shape %s, need %s.", node.op().name(), y, wanted);
      }
    }

    Shape result() {
      int[] out = sliding.out();
      return Shape.of(batch, out[0], out[1], out[2], outputs);
    }

    long grain() {
      return 1 + 100_000 / Math.max(1, (long) sliding.taps() * inputs * outputs);
    }
  }

  private static void forward(KernelContext c) {
    Tensor input = c.input(0);
    Tensor filter = c.input(1);
    Work w = new Work(c.node(), input.shape(), filter.shape(), null);
    Tensor output = c.allocate(0, w.result());
    double[] x = input.toDoubles();
    double[] f = filter.toDoubles();
    int places = w.sliding.places();
    Parallel.run(
        (long) w.batch * places,
        w.grain(),
        (from, to) -> {
          double[] sums = new double[w.outputs];
          for (long i = from; i < to; i++) {
            java.util.Arrays.fill(sums, 0);
            int start = (int) (i / places) * w.sliding.volume();
            w.sliding.each(
                (int) (i % places),
                (inside, tap) -> {
                  int at = (start + inside) * w.inputs;
                  for (int k = 0; k < w.inputs; k++) {
                    double v = x[at + k];
                    int row = (tap * w.inputs + k) * w.outputs;
                    for (int o = 0; o < w.outputs; o++) {
                      sums[o] += v * f[row + o];
                    }
                  }
                });
            for (int o = 0; o < w.outputs; o++) {
              output.setDouble(i * w.outputs + o, sums[o]);
            }
          }
        });
  }

  private static void backToInput(KernelContext c) {
    Tensor filter = c.input(1);
    Tensor dy = c.input(2);
    Shape s = shape(c.input(0));
    Work w = new Work(c.node(), s, filter.shape(), dy.shape());
    Tensor output = c.allocate(0, s);
    double[] f = filter.toDoubles();
    double[] g = dy.toDoubles();
    double[] x = new double[Math.toIntExact(s.elements())];
    int places = w.sliding.places();
    Parallel.run(
        w.batch,
        1,
        (from, to) -> {
          for (int b = (int) from; b < to; b++) {
            for (int p = 0; p < places; p++) {
              int start = b * w.sliding.volume();
              int dyAt = (b * places + p) * w.outputs;
              w.sliding.each(
                  p,
                  (inside, tap) -> {
                    int at = (start + inside) * w.inputs;
                    for (int k = 0; k < w.inputs; k++) {
                      int row = (tap * w.inputs + k) * w.outputs;
                      double sum = 0;
                      for (int o = 0; o < w.outputs; o++) {
                        sum += g[dyAt + o] * f[row + o];
                      }
                      x[at + k] += sum;
                    }
                  });
            }
          }
        });
    write(x, output);
  }

  private static void backToFilter(KernelContext c) {
    Tensor input = c.input(0);
    Tensor dy = c.input(2);
    Shape s = shape(c.input(1));
    Work w = new Work(c.node(), input.shape(), s, dy.shape());
    Tensor output = c.allocate(0, s);
    double[] x = input.toDoubles();
    double[] g = dy.toDoubles();
    double[] f = new double[Math.toIntExact(s.elements())];
    int places = w.sliding.places();
    for (int b = 0; b < w.batch; b++) {
      for (int p = 0; p < places; p++) {
        int start = b * w.sliding.volume();
        int dyAt = (b * places + p) * w.outputs;
        w.sliding.each(
            p,
            (inside, tap) -> {
              int at = (start + inside) * w.inputs;
              for (int k = 0; k < w.inputs; k++) {
                double v = x[at + k];
                int row = (tap * w.inputs + k) * w.outputs;
                for (int o = 0; o < w.outputs; o++) {
                  f[row + o] += v * g[dyAt + o];
                }
              }
            });
      }
    }
    write(f, output);
  }

  private static Shape shape(Tensor sizes) {
    if (sizes.shape().rank() != 1 || sizes.elements() != 5) {
      throw MillraceException.invalid(
          "sizes must be a vector of 5 elements, not of shape %s", sizes.shape());
    }
    return Shape.of(sizes.toLongs());
  }

  static void write(double[] values, Tensor to) {
    for (int i = 0; i < values.length; i++) {
      to.setDouble(i, values[i]);
    }
  }
}
