package dev.millrace.ops.nn;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Axis;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.conv.DepthwiseConv;
import dev.millrace.tensor.math.elementwise.ElementCast;
import java.util.List;

/**
 * Convolution in which each channel has {@code multiplier} filters of its own; the filter is {@code
 * [height, width, channels, multiplier]}. With its gradients by the images and by the filter.
 */
public final class Depthwise {
  private static final String TYPES = "T: {half, bfloat16, float, double}";

  public static final Op OP =
      settings(Op.define("DepthwiseConv2dNative").attr(TYPES).input("input: T").input("filter: T"))
          .output("output: T")
          .shape(
              c -> {
                ImageWindow w = ImageWindow.of(c.node());
                Shape images = c.inputOfRank(0, 4);
                Shape filter = c.inputOfRank(1, 4);
                w.requireFit(images, filter.dim(0), filter.dim(1));
                return List.of(output(w, images, filter));
              })
          .kernelPerNode(Depthwise::forward)
          .gradient(
              g -> {
                Output sizes = ShapeOf.known(g.scope(), g.input(0));
                g.dx(0, like(g, "DepthwiseConv2dNativeBackpropInput", sizes, g.input(1), g.dy()));
                Output filter = ShapeOf.known(g.scope(), g.input(1));
                g.dx(1, like(g, "DepthwiseConv2dNativeBackpropFilter", g.input(0), filter, g.dy()));
              })
          .build();

  public static final Op BACKPROP_INPUT =
      settings(
              Op.define("DepthwiseConv2dNativeBackpropInput")
                  .attr(TYPES)
                  .input("input_sizes: int32")
                  .input("filter: T")
                  .input("out_backprop: T"))
          .output("output: T")
          .shape(c -> List.of(rank4(c.constantAsShape(0))))
          .kernelPerNode(Depthwise::backwardInput)
          .gradient(
              g -> {
                Output filter = ShapeOf.known(g.scope(), g.input(1));
                g.dx(1, like(g, "DepthwiseConv2dNativeBackpropFilter", g.dy(), filter, g.input(2)));
                g.dx(2, like(g, "DepthwiseConv2dNative", g.dy(), g.input(1)));
              })
          .build();

  public static final Op BACKPROP_FILTER =
      settings(
              Op.define("DepthwiseConv2dNativeBackpropFilter")
                  .attr(TYPES)
                  .input("input: T")
                  .input("filter_sizes: int32")
                  .input("out_backprop: T"))
          .output("output: T")
          .shape(c -> List.of(rank4(c.constantAsShape(1))))
          .kernelPerNode(Depthwise::backwardFilter)
          .gradient(
              g -> {
                Output sizes = ShapeOf.known(g.scope(), g.input(0));
                g.dx(0, like(g, "DepthwiseConv2dNativeBackpropInput", sizes, g.dy(), g.input(2)));
                g.dx(2, like(g, "DepthwiseConv2dNative", g.input(0), g.dy()));
              })
          .build();

  private Depthwise() {}

  /** Adds a depthwise convolution of images with channels last. */
  public static Output of(Scope scope, Output input, Output filter, int stride, String padding) {
    return scope
        .node(OP)
        .input(input)
        .input(filter)
        .attr("strides", List.of(1, stride, stride, 1))
        .attr("padding", padding)
        .add()
        .output();
  }

  private static Op.Builder settings(Op.Builder b) {
    return b.attr("strides: list(int)")
        .attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
        .attr("explicit_paddings: list(int) = []")
        .attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
        .attr("dilations: list(int) = [1, 1, 1, 1]");
  }

  /** A node of {@code op} with the settings of the node whose gradient is built. */
  private static Output like(GradientContext g, String op, Output... inputs) {
    var b = g.scope().node(op);
    for (Output in : inputs) {
      b.input(in);
    }
    for (String a :
        List.of("strides", "padding", "explicit_paddings", "data_format", "dilations")) {
      b.attr(a, g.node().attr(a));
    }
    return b.add().output();
  }

  private static Shape rank4(Shape s) {
    return s.rank() == 4 ? s : Shape.unknownOfRank(4);
  }

  private static Shape output(ImageWindow w, Shape input, Shape filter) {
    long channels = input.dim(w.channelAxis());
    if (channels >= 0 && filter.dim(2) >= 0 && channels != filter.dim(2)) {
      throw MillraceException.invalid(
          "input and filter must have the same depth: %d vs %d", channels, filter.dim(2));
    }
    channels = Math.max(channels, filter.dim(2));
    long depth = channels < 0 || filter.dim(3) < 0 ? Shape.UNKNOWN : channels * filter.dim(3);
    return w.image(
        input.dim(0),
        w.outputs(w.rowAxis(), input.dim(w.rowAxis()), filter.dim(0)),
        w.outputs(w.columnAxis(), input.dim(w.columnAxis()), filter.dim(1)),
        depth);
  }

  private static ImageWindow prepared(Node node) {
    ImageWindow w = ImageWindow.of(node);
    w.requireChannelsLast(node);
    return w;
  }

  private static Kernel forward(Node node) {
    ImageWindow w = prepared(node);
    return c -> {
      Tensor x = c.input(0);
      Tensor f = c.input(1);
      Shape out = checkedOutput(w, x.shape(), f.shape());
      compute(c, out, x, f, (a, b, y) -> conv(w, x.shape(), f.shape()).forward(a, b, y));
    };
  }

  private static Kernel backwardInput(Node node) {
    ImageWindow w = prepared(node);
    return c -> {
      Shape in = Axis.shape(c.input(0));
      Tensor f = c.input(1);
      checkBackprop(w, in, f.shape(), c.input(2).shape());
      compute(c, in, f, c.input(2), (a, b, dx) -> conv(w, in, f.shape()).backwardInput(dx, a, b));
    };
  }

  private static Kernel backwardFilter(Node node) {
    ImageWindow w = prepared(node);
    return c -> {
      Tensor x = c.input(0);
      Shape filter = Axis.shape(c.input(1));
      checkBackprop(w, x.shape(), filter, c.input(2).shape());
      compute(
          c,
          filter,
          x,
          c.input(2),
          (a, b, df) -> conv(w, x.shape(), filter).backwardFilter(a, df, b));
    };
  }

  /** One of the three computations, from two arrays to the third. */
  private interface Computation {
    void run(Tensor a, Tensor b, Tensor result);
  }

  /** Runs a computation in floats or doubles; 16-bit floats are widened and rounded at the end. */
  private static void compute(
      KernelContext c, Shape shape, Tensor a, Tensor b, Computation computation) {
    Tensor result = c.allocate(0, shape);
    if (a.elements() == 0 || b.elements() == 0 || result.elements() == 0) {
      result.data().fill((byte) 0);
      return;
    }
    if (a.dtype() == DType.FLOAT || a.dtype() == DType.DOUBLE) {
      computation.run(a, b, result);
      return;
    }
    Tensor wideA = Refs.allocate(DType.FLOAT, a.shape());
    Tensor wideB = Refs.allocate(DType.FLOAT, b.shape());
    Tensor wide = Refs.allocate(DType.FLOAT, shape);
    try {
      ElementCast.run(a, wideA);
      ElementCast.run(b, wideB);
      computation.run(wideA, wideB, wide);
      ElementCast.run(wide, result);
    } finally {
      Refs.release(wideA);
      Refs.release(wideB);
      Refs.release(wide);
    }
  }

  private static DepthwiseConv conv(ImageWindow w, Shape input, Shape filter) {
    return new DepthwiseConv(
        Math.toIntExact(input.dim(0)),
        Math.toIntExact(input.dim(1)),
        Math.toIntExact(input.dim(2)),
        Math.toIntExact(input.dim(3)),
        Math.toIntExact(filter.dim(3)),
        w.rows(input.dim(1), filter.dim(0)),
        w.columns(input.dim(2), filter.dim(1)));
  }

  private static Shape checkedOutput(ImageWindow w, Shape input, Shape filter) {
    if (input.rank() != 4 || filter.rank() != 4) {
      throw MillraceException.invalid(
          "input and filter must be 4-dimensional; they are %s and %s.", input, filter);
    }
    return output(w, input, filter);
  }

  private static void checkBackprop(ImageWindow w, Shape input, Shape filter, Shape dy) {
    Shape needed = checkedOutput(w, input, filter);
    if (!needed.equals(dy)) {
      throw MillraceException.invalid(
          "out_backprop has shape %s, but images %s and filter %s make an output of shape %s.",
          dy, input, filter, needed);
    }
  }
}
