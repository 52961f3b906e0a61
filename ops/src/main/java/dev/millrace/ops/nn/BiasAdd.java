package dev.millrace.ops.nn;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.ZerosLike;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.conv.ChannelBias;
import dev.millrace.tensor.math.elementwise.BinaryOp;
import dev.millrace.tensor.math.elementwise.Elementwise;
import dev.millrace.tensor.math.reduce.ChannelSum;
import java.util.Arrays;
import java.util.List;

/** Adds one value per channel; its gradient sums per channel. */
public final class BiasAdd {
  public static final Op OP =
      Op.define("BiasAdd")
          .attr("T: numbertype")
          .attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
          .input("value: T")
          .input("bias: T")
          .output("output: T")
          .shape(BiasAdd::shape)
          .kernelPerNode(BiasAdd::kernel)
          .gradient(
              g -> {
                g.dx(0, g.dy());
                g.dx(1, gradient(g.scope(), g.dy(), g.node().stringAttr("data_format")));
              })
          .build();

  public static final Op GRAD =
      Op.define("BiasAddGrad")
          .attr("T: numbertype")
          .attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
          .input("out_backprop: T")
          .output("output: T")
          .shape(
              c -> {
                Shape dy = checked(c.input(0));
                return List.of(
                    Shape.of(
                        dy.hasRank()
                            ? dy.dim(channelAxis(dy, c.node().stringAttr("data_format")))
                            : Shape.UNKNOWN));
              })
          .kernelPerNode(BiasAdd::gradientKernel)
          .gradient(
              g -> {
                Output zeros = ZerosLike.of(g.scope(), g.input(0));
                g.dx(0, of(g.scope(), zeros, g.dy(), g.node().stringAttr("data_format")));
              })
          .build();

  private BiasAdd() {}

  /** {@code value + bias}, channels last. */
  public static Output of(Scope scope, Output value, Output bias) {
    return scope.add(OP, value, bias).output();
  }

  /** {@code value + bias} with channels last ("NHWC") or second ("NCHW"). */
  public static Output of(Scope scope, Output value, Output bias, String format) {
    return scope.node(OP).input(value).input(bias).attr("data_format", format).add().output();
  }

  private static Output gradient(Scope scope, Output dy, String format) {
    return scope.node(GRAD).input(dy).attr("data_format", format).add().output();
  }

  private static List<Shape> shape(ShapeContext c) {
    String format = c.node().stringAttr("data_format");
    Shape value = checked(c.input(0));
    Shape bias = c.inputOfRank(1, 1);
    if (!value.hasRank()) {
      return List.of(value);
    }
    int axis = channelAxis(value, format);
    checkBias(value, bias, axis);
    return List.of(value.dim(axis) < 0 ? value.withDim(axis, bias.dim(0)) : value);
  }

  private static Kernel kernel(Node node) {
    Supported.types(node, "T", DType.REAL);
    String format = node.stringAttr("data_format");
    return c -> {
      Tensor value = c.input(0);
      Tensor bias = c.input(1);
      Shape s = checked(value.shape());
      if (bias.shape().rank() != 1) {
        throw MillraceException.invalid("Biases must be 1D: %s", bias.shape());
      }
      int axis = channelAxis(s, format);
      checkBias(s, bias.shape(), axis);
      if (axis == s.rank() - 1 && ChannelBias.supports(value)) {
        ChannelBias.add(value, bias, false, c.allocateOrReuse(0, 0, s));
        return;
      }
      Tensor column = Refs.reshaped(bias, Shape.of(s.dim(axis)).concat(ones(s.rank() - 1 - axis)));
      try {
        Elementwise.binary(BinaryOp.ADD, value, column, c.allocateOrReuse(0, 0, s));
      } finally {
        Refs.release(column);
      }
    };
  }

  private static Kernel gradientKernel(Node node) {
    Supported.types(node, "T", DType.REAL);
    String format = node.stringAttr("data_format");
    return c -> {
      Tensor dy = c.input(0);
      Shape s = checked(dy.shape());
      int axis = channelAxis(s, format);
      Tensor out = c.allocate(0, Shape.of(s.dim(axis)));
      ChannelSum.run(dy, out, outer(s, axis), s.dim(axis), inner(s, axis));
    };
  }

  private static Shape checked(Shape value) {
    if (value.hasRank() && value.rank() < 2) {
      throw MillraceException.invalid("Input tensor must be at least 2D: %s", value);
    }
    return value;
  }

  private static int channelAxis(Shape s, String format) {
    return format.equals("NCHW") ? 1 : s.rank() - 1;
  }

  private static void checkBias(Shape value, Shape bias, int axis) {
    if (!Shape.of(value.dim(axis)).isCompatibleWith(bias)) {
      throw MillraceException.invalid(
          "Must provide as many biases as the channel dimension of the input tensor: bias is %s,"
              + " dimension %d of %s is %d.",
          bias, axis, value, value.dim(axis));
    }
  }

  private static Shape ones(int rank) {
    long[] d = new long[rank];
    Arrays.fill(d, 1);
    return Shape.of(d);
  }

  private static long outer(Shape s, int axis) {
    return s.slice(0, axis).elements();
  }

  private static long inner(Shape s, int axis) {
    return s.slice(axis + 1, s.rank()).elements();
  }
}
