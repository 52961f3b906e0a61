package dev.millrace.ops.nn;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.Axis;
import dev.millrace.ops.array.ShapeOf;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.conv.Conv2D;
import java.util.List;

/**
 * Convolution of images with a filter {@code [height, width, channels, filters]}, and its gradients
 * by the images and by the filter.
 */
public final class ConvolutionOps {
  private static final List<String> SETTINGS =
      List.of(
          "strides",
          "use_cudnn_on_gpu",
          "padding",
          "explicit_paddings",
          "data_format",
          "dilations");

  private static final String TYPES = "T: {half, bfloat16, float, double, int32}";

  public static final Op OP =
      settings(Op.define("Conv2D").attr(TYPES).input("input: T").input("filter: T"))
          .output("output: T")
          .shape(c -> List.of(output(c)))
          .kernelPerNode(ConvolutionOps::forward)
          .gradient(
              g -> {
                g.dx(0, backInput(g, ShapeOf.known(g.scope(), g.input(0)), g.input(1), g.dy()));
                g.dx(1, backFilter(g, g.input(0), ShapeOf.known(g.scope(), g.input(1)), g.dy()));
              })
          .build();

  public static final Op BACKPROP_INPUT =
      settings(
              Op.define("Conv2DBackpropInput")
                  .attr(TYPES)
                  .input("input_sizes: int32")
                  .input("filter: T")
                  .input("out_backprop: T"))
          .output("output: T")
          .shape(ConvolutionOps::backInputShape)
          .kernelPerNode(ConvolutionOps::backwardInput)
          .gradient(
              g -> {
                g.dx(1, backFilter(g, g.dy(), ShapeOf.known(g.scope(), g.input(1)), g.input(2)));
                g.dx(2, like(g, OP, g.dy(), g.input(1)));
              })
          .build();

  public static final Op BACKPROP_FILTER =
      settings(
              Op.define("Conv2DBackpropFilter")
                  .attr("T: {half, bfloat16, float, double}")
                  .input("input: T")
                  .input("filter_sizes: int32")
                  .input("out_backprop: T"))
          .output("output: T")
          .shape(
              c -> {
                ImageWindow.of(c.node());
                Shape s = c.constantAsShape(1);
                return List.of(s.hasRank() ? s : Shape.unknownOfRank(4));
              })
          .kernelPerNode(ConvolutionOps::backwardFilter)
          .gradient(
              g -> {
                g.dx(0, backInput(g, ShapeOf.known(g.scope(), g.input(0)), g.dy(), g.input(2)));
                g.dx(2, like(g, OP, g.input(0), g.dy()));
              })
          .build();

  private ConvolutionOps() {}

  /**
   * Adds a convolution of images with channels last.
   *
   * @param stride how far windows are apart, in both directions
   * @param padding "SAME" or "VALID"
   */
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

  /** Whether two nodes, forwards or backwards, move their filters over images alike. */
  static boolean haveSameSettings(Node a, Node b) {
    return SETTINGS.stream().allMatch(s -> a.attr(s).equals(b.attr(s)));
  }

  /** Adds the attributes that all convolutions have. */
  static Op.Builder settings(Op.Builder b) {
    return b.attr("strides: list(int)")
        .attr("use_cudnn_on_gpu: bool = true")
        .attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
        .attr("explicit_paddings: list(int) = []")
        .attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
        .attr("dilations: list(int) = [1, 1, 1, 1]");
  }

  private static Output backInput(GradientContext g, Output sizes, Output filter, Output dy) {
    return like(g, BACKPROP_INPUT, sizes, filter, dy);
  }

  private static Output backFilter(GradientContext g, Output input, Output sizes, Output dy) {
    return like(g, BACKPROP_FILTER, input, sizes, dy);
  }

  /** A node of {@code op} with the settings of the node whose gradient is built. */
  private static Output like(GradientContext g, Op op, Output... inputs) {
    var b = g.scope().node(op);
    for (Output in : inputs) {
      b.input(in);
    }
    for (String a : SETTINGS) {
      b.attr(a, g.node().attr(a));
    }
    return b.add().output();
  }

  /** The shape of a convolution of input 0 with input 1. */
  static Shape output(ShapeContext c) {
    ImageWindow w = ImageWindow.of(c.node());
    Shape images = c.inputOfRank(0, 4);
    Shape filter = c.inputOfRank(1, 4);
    w.requireFit(images, filter.dim(0), filter.dim(1));
    return output(w, images, filter);
  }

  static Shape output(ImageWindow w, Shape input, Shape filter) {
    checkDepth(input.dim(w.channelAxis()), filter);
    return w.image(
        input.dim(0),
        w.outputs(w.rowAxis(), input.dim(w.rowAxis()), filter.dim(0)),
        w.outputs(w.columnAxis(), input.dim(w.columnAxis()), filter.dim(1)),
        filter.dim(3));
  }

  private static void checkDepth(long depth, Shape filter) {
    long each = filter.dim(2);
    if (depth >= 0 && each >= 0 && (each == 0 || depth % each != 0)) {
      throw MillraceException.invalid(
          "input depth must be evenly divisible by filter depth: %d vs %d", depth, each);
    }
  }

  private static List<Shape> backInputShape(ShapeContext c) {
    ImageWindow w = ImageWindow.of(c.node());
    Shape filter = c.inputOfRank(1, 4);
    Shape s = c.constantAsShape(0);
    Shape dy = c.inputOfRank(2, 4);
    if (s.rank() == 2) {
      return List.of(w.image(dy.dim(0), s.dim(0), s.dim(1), filter.dim(2)));
    }
    Shape images = s.rank() == 4 ? s : Shape.unknownOfRank(4);
    return List.of(images.dim(0) < 0 ? images.withDim(0, dy.dim(0)) : images);
  }

  /** The window of a convolution that has a kernel. */
  static ImageWindow prepared(Node node) {
    ImageWindow w = ImageWindow.of(node);
    w.requireChannelsLast(node);
    return w;
  }

  private static Kernel forward(Node node) {
    ImageWindow w = prepared(node);
    return c -> convolve(c, w);
  }

  /** Sets output 0 to the images in input 0, convolved with the filter in input 1. */
  static Tensor convolve(KernelContext c, ImageWindow w) {
    Tensor x = c.input(0);
    Tensor filter = c.input(1);
    ChannelGroups groups = groups(w, x.dtype(), x.shape(), filter.shape());
    Tensor y = c.allocate(0, output(w, x.shape(), filter.shape()));
    groups.forward(x, filter, y);
    return y;
  }

  private static Kernel backwardInput(Node node) {
    ImageWindow w = prepared(node);
    return c -> {
      Tensor filter = c.input(1);
      Tensor dy = c.input(2);
      Shape input = Axis.shape(c.input(0));
      if (input.rank() == 2 && dy.shape().rank() == 4 && filter.shape().rank() == 4) {
        input = w.image(dy.shape().dim(0), input.dim(0), input.dim(1), filter.shape().dim(2));
      }
      ChannelGroups groups = groups(w, dy.dtype(), input, filter.shape());
      checkBackprop(w, input, filter.shape(), dy.shape());
      groups.backwardInput(c.allocate(0, input), filter, dy);
    };
  }

  private static Kernel backwardFilter(Node node) {
    ImageWindow w = prepared(node);
    return c -> {
      Tensor x = c.input(0);
      Tensor dy = c.input(2);
      Shape filter = Axis.shape(c.input(1));
      ChannelGroups groups = groups(w, dy.dtype(), x.shape(), filter);
      checkBackprop(w, x.shape(), filter, dy.shape());
      groups.backwardFilter(x, c.allocate(0, filter), dy);
    };
  }

  static ChannelGroups groups(ImageWindow w, DType type, Shape input, Shape filter) {
    if (input.rank() != 4 || filter.rank() != 4) {
      throw MillraceException.invalid(
          "input and filter must be 4-dimensional; they are %s and %s.", input, filter);
    }
    checkDepth(input.dim(3), filter);
    int count = Math.toIntExact(input.dim(3) / filter.dim(2));
    if (count == 0 || filter.dim(3) % count != 0) {
      throw MillraceException.invalid(
          "output depth must be evenly divisible by number of groups: %d vs %d",
          filter.dim(3), count);
    }
    output(w, input, filter);
    Conv2D each =
        new Conv2D(
            type,
            Math.toIntExact(input.dim(0)),
            Math.toIntExact(input.dim(1)),
            Math.toIntExact(input.dim(2)),
            Math.toIntExact(filter.dim(2)),
            Math.toIntExact(filter.dim(3) / count),
            w.rows(input.dim(1), filter.dim(0)),
            w.columns(input.dim(2), filter.dim(1)));
    return new ChannelGroups(each, count);
  }

  static void checkBackprop(ImageWindow w, Shape input, Shape filter, Shape dy) {
    Shape needed = output(w, input, filter);
    if (!needed.equals(dy)) {
      throw MillraceException.invalid(
          "out_backprop has shape %s, but images %s and filter %s make an output of shape %s.",
          dy, input, filter, needed);
    }
  }
}
