package dev.millrace.ops.nn;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Fusion.Fused;
import dev.millrace.graph.Fusion.Readers;
import dev.millrace.graph.Gradient;
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
import dev.millrace.tensor.math.conv.ImagePool;
import dev.millrace.tensor.math.conv.Window;
import java.util.Arrays;
import java.util.List;

/**
 * The largest or the mean of each window of images, channel by channel, with their gradients. The
 * gradient of the largest goes to the first of several equal elements.
 */
public final class Pool {
  private static final String PADDINGS = "padding: {'SAME', 'VALID', 'EXPLICIT'}";
  private static final String FORMATS = "data_format: {'NHWC', 'NCHW'} = 'NHWC'";
  private static final String MAX_TYPES =
      "T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = float";
  private static final String FLOATING = "T: {half, bfloat16, float, double}";

  public static final Op MAX =
      window(Op.define("MaxPool").attr(MAX_TYPES))
          .attr(PADDINGS)
          .attr("explicit_paddings: list(int) = []")
          .attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
          .input("input: T")
          .output("output: T")
          .shape(Pool::shape)
          .kernelPerNode(Pool::max)
          .gradient(g -> g.dx(0, like(g, "MaxPoolGrad", true, g.input(0), g.output(0), g.dy())))
          .build();

  public static final Op MAX_GRAD =
      gradientOfMax("MaxPoolGrad")
          .kernelPerNode(node -> maxGradient(node, false))
          .gradient(g -> g.dx(2, like(g, "MaxPoolGradGrad", false, g.input(0), g.input(1), g.dy())))
          .build();

  /** The gradient of the largest of what relu lets through: of {@code MaxPool(Relu)}. */
  private static final Op MAX_RELU_GRAD =
      gradientOfMax("_MaxPoolReluGrad")
          .kernelPerNode(node -> maxGradient(node, true))
          .gradient(Gradient.undefined("it appears only after gradients have been added"))
          .build();

  public static final Op MAX_GRAD_GRAD =
      window(Op.define("MaxPoolGradGrad"))
          .attr("padding: {'SAME', 'VALID'}")
          .attr(FORMATS)
          .attr("T: realnumbertype")
          .input("orig_input: T")
          .input("orig_output: T")
          .input("grad: T")
          .output("output: T")
          .shape(c -> List.of(c.inputOfRank(1, 4)))
          .kernelPerNode(Pool::maxGather)
          .gradient(g -> g.dx(2, like(g, "MaxPoolGrad", true, g.input(0), g.input(1), g.dy())))
          .build();

  public static final Op AVERAGE =
      window(Op.define("AvgPool"))
          .attr("padding: {'SAME', 'VALID'}")
          .attr(FORMATS)
          .attr(FLOATING)
          .input("value: T")
          .output("output: T")
          .shape(Pool::shape)
          .kernelPerNode(Pool::average)
          .gradient(
              g ->
                  g.dx(
                      0,
                      like(g, "AvgPoolGrad", false, ShapeOf.known(g.scope(), g.input(0)), g.dy())))
          .build();

  public static final Op AVERAGE_GRAD =
      window(Op.define("AvgPoolGrad"))
          .attr("padding: {'SAME', 'VALID'}")
          .attr(FORMATS)
          .attr(FLOATING)
          .input("orig_input_shape: int32")
          .input("grad: T")
          .output("output: T")
          .shape(
              c -> {
                Shape s = c.constantAsShape(0);
                return List.of(s.rank() == 4 ? s : Shape.unknownOfRank(4));
              })
          .kernelPerNode(Pool::averageGradient)
          .gradient(g -> g.dx(1, like(g, "AvgPool", false, g.dy())))
          .build();

  private Pool() {}

  /** The largest of each {@code size x size} window of images with channels last. */
  public static Output max(Scope scope, Output x, int size, int stride, String padding) {
    return of(scope, MAX, x, size, stride, padding);
  }

  /** The mean of each {@code size x size} window of images with channels last. */
  public static Output average(Scope scope, Output x, int size, int stride, String padding) {
    return of(scope, AVERAGE, x, size, stride, padding);
  }

  private static Output of(Scope scope, Op op, Output x, int size, int stride, String padding) {
    return scope
        .node(op)
        .input(x)
        .attr("ksize", List.of(1, size, size, 1))
        .attr("strides", List.of(1, stride, stride, 1))
        .attr("padding", padding)
        .add()
        .output();
  }

  private static Op.Builder window(Op.Builder b) {
    return b.attr("ksize: list(int) >= 4").attr("strides: list(int) >= 4");
  }

  private static Op.Builder gradientOfMax(String name) {
    return window(Op.define(name))
        .attr(PADDINGS)
        .attr("explicit_paddings: list(int) = []")
        .attr(FORMATS)
        .attr("T: realnumbertype = float")
        .input("orig_input: T")
        .input("orig_output: T")
        .input("grad: T")
        .output("output: T")
        .shape(c -> List.of(c.inputOfRank(0, 4)));
  }

  /** A node of {@code op} with the settings of the node whose gradient is built. */
  private static Output like(GradientContext g, String op, boolean explicit, Output... inputs) {
    var b = g.scope().node(op);
    for (Output in : inputs) {
      b.input(in);
    }
    for (String a : List.of("ksize", "strides", "padding", "data_format")) {
      b.attr(a, g.node().attr(a));
    }
    if (explicit && g.node().hasAttr("explicit_paddings")) {
      b.attr("explicit_paddings", g.node().attr("explicit_paddings"));
    }
    return b.add().output();
  }

  private static List<Shape> shape(ShapeContext c) {
    if (c.node().stringAttr("data_format").equals("NCHW_VECT_C")) {
      return List.of(Shape.unknownOfRank(5));
    }
    Shape images = c.inputOfRank(0, 4);
    if (DepthPool.isMeantBy(c.node())) {
      return List.of(DepthPool.shape(c.node(), images));
    }
    ImageWindow w = ImageWindow.of(c.node());
    long[] size = size(c.node(), w);
    w.requireFit(images, size[w.rowAxis()], size[w.columnAxis()]);
    return List.of(output(w, size, images));
  }

  private static long[] size(Node node, ImageWindow w) {
    long[] k = ImageWindow.four(node, "ksize");
    if (k[0] != 1 || k[w.channelAxis()] != 1) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          "Pooling is not yet supported on the batch or depth dimension; ksize is "
              + Arrays.toString(k));
    }
    return k;
  }

  private static Shape output(ImageWindow w, long[] k, Shape in) {
    int r = w.rowAxis();
    int c = w.columnAxis();
    return w.image(
        in.dim(0),
        w.outputs(r, in.dim(r), k[r]),
        w.outputs(c, in.dim(c), k[c]),
        in.dim(w.channelAxis()));
  }

  /** A pooling of images of some shape, worked out once per node but for that shape. */
  record Plan(ImageWindow window, long[] size) {
    static Plan of(Node node) {
      ImageWindow w = ImageWindow.of(node);
      w.requireChannelsLast(node);
      return new Plan(w, Pool.size(node, w));
    }

    Shape output(Shape in) {
      if (in.rank() != 4) {
        throw MillraceException.invalid("tensor_in must be 4-dimensional; it has shape %s", in);
      }
      return Pool.output(window, size, in);
    }

    ImagePool over(Shape in) {
      Window rows = window.rows(in.dim(1), size[1]);
      Window columns = window.columns(in.dim(2), size[2]);
      if (in.elements() == 0 || isOutside(rows) || isOutside(columns)) {
        throw MillraceException.invalid(
            "Some windows of size %dx%d would lie in the padding alone: images are %s.",
            size[1], size[2], in);
      }
      return new ImagePool(
          Math.toIntExact(in.dim(0)),
          Math.toIntExact(in.dim(1)),
          Math.toIntExact(in.dim(2)),
          Math.toIntExact(in.dim(3)),
          rows,
          columns);
    }

    private static boolean isOutside(Window w) {
      return w.before() >= w.size() || w.after() >= w.size();
    }
  }

  private static Kernel max(Node node) {
    Supported.types(node, "T", DType.REAL);
    if (DepthPool.isMeantBy(node)) {
      return DepthPool.of(node)::max;
    }
    Plan plan = Plan.of(node);
    return c -> {
      Tensor x = c.input(0);
      Tensor y = c.allocate(0, plan.output(x.shape()));
      if (y.elements() > 0) {
        plan.over(x.shape()).max(x, y);
      }
    };
  }

  /**
   * Matches the gradient of a relu whose output goes through MaxPool: what is cut off there is cut
   * off here, before the gradient is spread over the images.
   */
  static Fused matchGradientOfRelu(Node last, Readers readers) {
    if (last.op() != Activations.RELU_GRAD) {
      return null;
    }
    Node pool = last.input(0).node();
    return pool.op() == MAX_GRAD
            && last.output(0).dtype() == DType.FLOAT
            && pool.input(0) == last.input(1)
        ? new Fused(MAX_RELU_GRAD, pool.attrs(), pool.inputs(), List.of(pool))
        : null;
  }

  private static Kernel maxGradient(Node node, boolean ofRelu) {
    Plan plan = Plan.of(node);
    return c -> {
      Tensor x = c.input(0);
      Shape out = plan.output(x.shape());
      require(c, 1, out);
      require(c, 2, out);
      Tensor dx = c.allocate(0, x.shape());
      if (out.elements() > 0) {
        plan.over(x.shape()).maxGradient(x, c.input(1), c.input(2), ofRelu, dx);
      } else {
        dx.data().fill((byte) 0);
      }
    };
  }

  private static Kernel maxGather(Node node) {
    Plan plan = Plan.of(node);
    return c -> {
      Tensor x = c.input(0);
      Shape out = plan.output(x.shape());
      require(c, 1, out);
      require(c, 2, x.shape());
      Tensor y = c.allocate(0, out);
      if (out.elements() > 0) {
        plan.over(x.shape()).maxGather(x, c.input(1), c.input(2), y);
      }
    };
  }

  private static Kernel average(Node node) {
    Plan plan = Plan.of(node);
    return c -> {
      Tensor x = c.input(0);
      Tensor y = c.allocate(0, plan.output(x.shape()));
      if (y.elements() > 0) {
        plan.over(x.shape()).mean(x, y);
      }
    };
  }

  private static Kernel averageGradient(Node node) {
    Plan plan = Plan.of(node);
    return c -> {
      Shape in = Axis.shape(c.input(0));
      Shape out = plan.output(in);
      require(c, 1, out);
      Tensor dx = c.allocate(0, in);
      dx.data().fill((byte) 0);
      if (out.elements() > 0) {
        plan.over(in).meanGradient(c.input(1), dx);
      }
    };
  }

  private static void require(KernelContext c, int i, Shape needed) {
    if (!c.input(i).shape().equals(needed)) {
      throw MillraceException.invalid(
          "Expected input %d ('%s') to have shape %s, but it has %s",
          i, c.node().op().inputs().get(i).name(), needed, c.input(i).shape());
    }
  }
}
