package dev.millrace.ops.volume;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** The largest element and the mean of windows of volumes. */
final class Pool3D {
  static final Op MAX =
      define("MaxPool3D")
          .attr("T: {half, bfloat16, float}")
          .input("input: T")
          .output("output: T")
          .shape(Pool3D::infer)
          .kernel(c -> pool(c, true))
          .gradient(
              g -> {
                NodeBuilder b =
                    g.scope()
                        .node("MaxPool3DGrad")
                        .input(g.input(0))
                        .input(g.output(0))
                        .input(g.dy());
                g.dx(0, attributed(b, g.node()));
              })
          .build();

  static final Op MAX_GRAD =
      define("MaxPool3DGrad")
          .attr("T: {half, bfloat16, float} = float")
          .attr("TInput: {half, bfloat16, float} = float")
          .input("orig_input: TInput")
          .input("orig_output: TInput")
          .input("grad: T")
          .output("output: T")
          .shape(c -> List.of(c.inputOfRank(0, 5)))
          .kernel(Pool3D::maxGradient)
          .gradient(Gradient.undefined("Millrace defines none"))
          .build();

  static final Op AVG =
      define("AvgPool3D")
          .attr("T: {half, bfloat16, float, double}")
          .input("input: T")
          .output("output: T")
          .shape(Pool3D::infer)
          .kernel(c -> pool(c, false))
          .gradient(g -> g.dx(0, averageGradient(g, ShapeOf.of(g.scope(), g.input(0)), g.dy())))
          .build();

  static final Op AVG_GRAD =
      define("AvgPool3DGrad")
          .attr("T: {half, bfloat16, float, double}")
          .input("orig_input_shape: int32")
          .input("grad: T")
          .output("output: T")
          .shape(
              c -> {
                Shape s = c.constantAsShape(0);
                return List.of(s.hasRank() ? s : Shape.unknownOfRank(5));
              })
          .kernel(Pool3D::averageGradient)
          .gradient(g -> g.dx(1, attributed(g.scope().node("AvgPool3D").input(g.dy()), g.node())))
          .build();

  static final List<Op> ALL = List.of(MAX, MAX_GRAD, AVG, AVG_GRAD);

  private Pool3D() {}

  private static Op.Builder define(String name) {
    return Op.define(name)
        .attr("ksize: list(int) >= 5")
        .attr("strides: list(int) >= 5")
        .attr("padding: {'SAME', 'VALID'}")
        .attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'");
  }

  private static Output attributed(NodeBuilder b, Node from) {
    for (String attr : List.of("ksize", "strides", "padding", "data_format")) {
      b.attr(attr, from.attr(attr));
    }
    return b.add().output();
  }

  private static Output averageGradient(GradientContext g, Output shape, Output dy) {
    return attributed(g.scope().node("AvgPool3DGrad").input(shape).input(dy), g.node());
  }

  private static List<Shape> infer(ShapeContext c) {
    Shape x = c.inputOfRank(0, 5);
    Node node = c.node();
    if (node.stringAttr("data_format").equals("NCDHW")) {
      return List.of(Shape.unknownOfRank(5));
    }
    int[] window = Sliding.spatial(node, "ksize");
    int[] strides = Sliding.spatial(node, "strides");
    long[] d = x.dims();
    for (int i = 0; i < 3; i++) {
      d[i + 1] = Sliding.size(node, x.dim(i + 1), window[i], strides[i], 1);
    }
    return List.of(Shape.of(d));
  }

  private static Sliding sliding(Node node, Shape x) {
    if (x.rank() != 5) {
      throw MillraceException.invalid("tensor_in must be 5-dimensional, not %s", x);
    }
    return Sliding.of(node, x, Sliding.spatial(node, "ksize"));
  }

  private static Shape result(Shape x, Sliding s) {
    return Shape.of(x.dim(0), s.out()[0], s.out()[1], s.out()[2], x.dim(4));
  }

  private static void pool(KernelContext c, boolean largest) {
    Tensor input = c.input(0);
    Sliding s = sliding(c.node(), input.shape());
    Tensor output = c.allocate(0, result(input.shape(), s));
    int channels = Math.toIntExact(input.shape().dim(4));
    double[] x = input.toDoubles();
    double[] values = new double[channels];
    int[] count = new int[1];
    for (int i = 0; i < input.shape().dim(0) * s.places(); i++) {
      int start = i / s.places() * s.volume();
      java.util.Arrays.fill(values, largest ? Double.NEGATIVE_INFINITY : 0);
      count[0] = 0;
      s.each(
          i % s.places(),
          (inside, tap) -> {
            count[0]++;
            for (int k = 0; k < channels; k++) {
              double v = x[(start + inside) * channels + k];
              values[k] = largest ? Math.max(values[k], v) : values[k] + v;
            }
          });
      for (int k = 0; k < channels; k++) {
        output.setDouble((long) i * channels + k, largest ? values[k] : values[k] / count[0]);
      }
    }
  }

  /** The gradient goes to the first element that is the largest. */
  private static void maxGradient(KernelContext c) {
    Tensor input = c.input(0);
    Tensor dy = c.input(2);
    if (dy.dtype() != input.dtype()) {
      throw MillraceException.invalid(
          "MaxPool3DGrad computes on one type, not on %s and %s.", input.dtype(), dy.dtype());
    }
    Sliding s = sliding(c.node(), input.shape());
    Shape wanted = result(input.shape(), s);
    for (int i = 1; i < 3; i++) {
      if (!c.input(i).shape().equals(wanted)) {
        throw MillraceException.invalid(
            "MaxPool3DGrad: input %d has shape %s, need %s.", i, c.input(i).shape(), wanted);
      }
    }
    int channels = Math.toIntExact(input.shape().dim(4));
    double[] x = input.toDoubles();
    double[] g = dy.toDoubles();
    double[] dx = new double[x.length];
    int[] best = new int[channels];
    for (int i = 0; i < input.shape().dim(0) * s.places(); i++) {
      int start = i / s.places() * s.volume();
      java.util.Arrays.fill(best, -1);
      s.each(
          i % s.places(),
          (inside, tap) -> {
            for (int k = 0; k < channels; k++) {
              int at = (start + inside) * channels + k;
              if (best[k] < 0 || x[at] > x[best[k]]) {
                best[k] = at;
              }
            }
          });
      for (int k = 0; k < channels; k++) {
        if (best[k] >= 0) {
          dx[best[k]] += g[i * channels + k];
        }
      }
    }
    Conv3D.write(dx, c.allocate(0, input.shape()));
  }

  private static void averageGradient(KernelContext c) {
    Tensor sizes = c.input(0);
    Tensor dy = c.input(1);
    if (sizes.shape().rank() != 1 || sizes.elements() != 5) {
      throw MillraceException.invalid(
          "orig_input_shape must be 1-dimensional and 5 elements, not %s", sizes.shape());
    }
    Shape shape = Shape.of(sizes.toLongs());
    Sliding s = sliding(c.node(), shape);
    if (!dy.shape().equals(result(shape, s))) {
      throw MillraceException.invalid(
          "AvgPool3DGrad: grad has shape %s, need %s.", dy.shape(), result(shape, s));
    }
    int channels = Math.toIntExact(shape.dim(4));
    double[] g = dy.toDoubles();
    double[] dx = new double[Math.toIntExact(shape.elements())];
    int[] count = new int[1];
    for (int i = 0; i < shape.dim(0) * s.places(); i++) {
      int start = i / s.places() * s.volume();
      int place = i;
      count[0] = 0;
      s.each(i % s.places(), (inside, tap) -> count[0]++);
      s.each(
          i % s.places(),
          (inside, tap) -> {
            for (int k = 0; k < channels; k++) {
              dx[(start + inside) * channels + k] += g[place * channels + k] / count[0];
            }
          });
    }
    Conv3D.write(dx, c.allocate(0, shape));
  }
}
