package dev.millrace.ops.nn;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.conv.BatchNorm;
import dev.millrace.tensor.math.elementwise.ElementCast;
import dev.millrace.tensor.math.elementwise.TensorFill;
import java.util.ArrayList;
import java.util.List;

/**
 * Batch normalisation in one op: in training by the statistics of the batch, which it also outputs
 * (the variance corrected for the sample's size, moved by {@code exponential_avg_factor}), else by
 * the statistics given. The reserved outputs carry mean and variance to the gradient.
 */
public final class FusedBatchNorm {
  private static final String FORMATS = "data_format: {'NHWC', 'NCHW'} = 'NHWC'";
  private static final String MORE_FORMATS =
      "data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'";

  public static final Op V1 =
      forward(Op.define("FusedBatchNorm").attr("T: {float}"), "T", FORMATS, 1);
  public static final Op V2 =
      forward(
          Op.define("FusedBatchNormV2").attr("T: {half, bfloat16, float}").attr("U: {float}"),
          "U",
          FORMATS,
          2);
  public static final Op V3 =
      forward(
          Op.define("FusedBatchNormV3")
              .attr("T: {half, bfloat16, float}")
              .attr("U: {bfloat16, float}"),
          "U",
          MORE_FORMATS,
          3);

  public static final Op GRAD_V1 =
      backward(Op.define("FusedBatchNormGrad").attr("T: {float}"), "T", "T", FORMATS, 1);
  public static final Op GRAD_V2 =
      backward(
          Op.define("FusedBatchNormGradV2").attr("T: {half, bfloat16, float}").attr("U: {float}"),
          "float",
          "U",
          FORMATS,
          2);
  public static final Op GRAD_V3 =
      backward(
          Op.define("FusedBatchNormGradV3").attr("T: {half, bfloat16, float}").attr("U: {float}"),
          "float",
          "U",
          MORE_FORMATS,
          3);

  private FusedBatchNorm() {}

  private static Op forward(Op.Builder b, String type, String formats, int version) {
    b.attr("epsilon: float = 0.0001")
        .attr("exponential_avg_factor: float = 1")
        .attr(formats)
        .attr("is_training: bool = true")
        .input("x: T");
    for (String in : List.of("scale", "offset", "mean", "variance")) {
      b.input(in + ": " + type);
    }
    b.output("y: T");
    for (String out :
        List.of("batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2")) {
      b.output(out + ": " + type);
    }
    if (version == 3) {
      b.output("reserve_space_3: " + type);
    }
    return b.shape(FusedBatchNorm::shapes)
        .kernelPerNode(FusedBatchNorm::kernel)
        .gradient(g -> gradient(g, version))
        .build();
  }

  private static Op backward(
      Op.Builder b, String scaleType, String type, String formats, int version) {
    b.attr("epsilon: float = 0.0001")
        .attr(formats)
        .attr("is_training: bool = true")
        .input("y_backprop: T")
        .input("x: T")
        .input("scale: " + scaleType)
        .input("reserve_space_1: " + type)
        .input("reserve_space_2: " + type);
    if (version == 3) {
      b.input("reserve_space_3: " + type);
    }
    b.output("x_backprop: T").output("scale_backprop: " + type).output("offset_backprop: " + type);
    for (int i = 0; i < 2; i++) {
      b.output("reserve_space_" + ((version == 3 ? 4 : 3) + i) + ": " + type);
    }
    return b.shape(FusedBatchNorm::gradientShapes)
        .kernelPerNode(FusedBatchNorm::gradientKernel)
        .gradient(BatchNormSecondGradient::of)
        .build();
  }

  private static List<Shape> shapes(ShapeContext c) {
    Channels f = Channels.of(c.node());
    Shape x = f.checked(c.input(0));
    Shape perChannel = c.inputOfRank(1, 1).mergeWith(c.inputOfRank(2, 1));
    perChannel = perChannel.mergeWith(Shape.of(f.channels(x)));
    boolean training = c.node().booleanAttr("is_training");
    if (!training || c.node().floatAttr("exponential_avg_factor") != 1) {
      perChannel = perChannel.mergeWith(c.inputOfRank(3, 1)).mergeWith(c.inputOfRank(4, 1));
    }
    List<Shape> all = new ArrayList<>();
    all.add(x.withDim(f.axis(x), perChannel.dim(0)));
    for (int i = 0; i < 4; i++) {
      all.add(perChannel);
    }
    if (c.node().outputCount() == 6) {
      all.add(isHalf(c.node()) ? Shape.unknown() : Shape.unknownOfRank(1));
    }
    return all;
  }

  private static List<Shape> gradientShapes(ShapeContext c) {
    Channels f = Channels.of(c.node());
    Shape x = f.checked(c.input(0).mergeWith(c.input(1)));
    Shape perChannel = c.inputOfRank(2, 1).mergeWith(Shape.of(f.channels(x)));
    Shape reserved = reserved(c.node());
    return List.of(x, perChannel, perChannel, reserved, reserved);
  }

  private static Kernel kernel(Node node) {
    refuse(node);
    Channels f = Channels.of(node);
    boolean training = node.booleanAttr("is_training");
    float epsilon = node.floatAttr("epsilon");
    float factor = node.floatAttr("exponential_avg_factor");
    return c -> {
      Shape s = f.checked(c.input(0).shape());
      Shape channels = Shape.of(f.channels(s));
      boolean statistics = !training || factor != 1;
      for (int i = 1; i <= (statistics ? 4 : 2); i++) {
        requireShape(c, i, channels);
      }
      BatchNorm norm = new BatchNorm(f.outer(s), channels.dim(0), f.inner(s), epsilon);
      Tensor[] out = new Tensor[4];
      for (int i = 0; i < 4; i++) {
        out[i] = c.allocate(i + 1, channels);
      }
      if (node.outputCount() == 6) {
        Tensor reserved = c.allocate(5, isHalf(node) ? Shape.scalar() : Shape.of(0));
        reserved.data().fill((byte) 0);
      }
      Tensor y = c.allocate(0, s);
      Tensor x = asFloats(c.input(0));
      Tensor wide = y.dtype() == DType.FLOAT ? y : Refs.allocate(DType.FLOAT, s);
      try {
        if (training || x.elements() == 0) {
          train(c, norm, x, out, factor);
        } else {
          for (int i = 0; i < 4; i++) {
            TensorFill.copy(c.input(3 + i % 2), out[i]);
          }
        }
        norm.normalize(x, out[2], out[3], c.input(1), c.input(2), wide);
        if (wide != y) {
          ElementCast.run(wide, y);
        }
      } finally {
        Refs.release(x);
        if (wide != y) {
          Refs.release(wide);
        }
      }
    };
  }

  /** Statistics of the batch: for the gradient as they are, for the caller corrected and moved. */
  private static void train(KernelContext c, BatchNorm norm, Tensor x, Tensor[] out, float factor) {
    long channels = out[0].elements();
    if (x.elements() == 0) {
      for (long i = 0; i < channels; i++) {
        out[0].setDouble(i, Double.NaN);
        out[1].setDouble(i, Double.NaN);
        out[2].setDouble(i, 0);
        out[3].setDouble(i, 0);
      }
      return;
    }
    norm.moments(x, out[2], out[3]);
    double n = (double) x.elements() / channels;
    double correction = n / Math.max(n - 1, 1);
    for (long i = 0; i < channels; i++) {
      double mean = out[2].doubleAt(i);
      double variance = out[3].doubleAt(i) * correction;
      if (factor != 1) {
        mean = (1 - factor) * c.input(3).doubleAt(i) + factor * mean;
        variance = (1 - factor) * c.input(4).doubleAt(i) + factor * variance;
      }
      out[0].setDouble(i, mean);
      out[1].setDouble(i, variance);
    }
  }

  private static Kernel gradientKernel(Node node) {
    refuse(node);
    Channels f = Channels.of(node);
    boolean training = node.booleanAttr("is_training");
    float epsilon = node.floatAttr("epsilon");
    return c -> {
      Shape s = f.checked(c.input(1).shape());
      requireShape(c, 0, s);
      Shape channels = Shape.of(f.channels(s));
      for (int i = 2; i <= 4; i++) {
        requireShape(c, i, channels);
      }
      Tensor dx = c.allocate(0, s);
      Tensor dScale = c.allocate(1, channels);
      Tensor dOffset = c.allocate(2, channels);
      c.allocate(3, reserved(node)).data().fill((byte) 0);
      c.allocate(4, reserved(node)).data().fill((byte) 0);
      if (s.elements() == 0) {
        dScale.data().fill((byte) 0);
        dOffset.data().fill((byte) 0);
        return;
      }
      Tensor dy = asFloats(c.input(0));
      Tensor x = asFloats(c.input(1));
      Tensor wide = dx.dtype() == DType.FLOAT ? dx : Refs.allocate(DType.FLOAT, s);
      try {
        new BatchNorm(f.outer(s), channels.dim(0), f.inner(s), epsilon)
            .gradient(dy, x, c.input(2), c.input(3), c.input(4), training, wide, dScale, dOffset);
        if (wide != dx) {
          ElementCast.run(wide, dx);
        }
      } finally {
        Refs.release(dy);
        Refs.release(x);
        if (wide != dx) {
          Refs.release(wide);
        }
      }
    };
  }

  private static void gradient(GradientContext g, int version) {
    Node n = g.node();
    boolean training = n.booleanAttr("is_training");
    Op op = version == 1 ? GRAD_V1 : version == 2 ? GRAD_V2 : GRAD_V3;
    var b =
        g.scope()
            .node(op)
            .input(g.dy(0))
            .input(g.input(0))
            .input(g.input(1))
            .input(training ? g.output(3) : g.input(3))
            .input(training ? g.output(4) : g.input(4));
    if (version == 3) {
      b.input(g.output(5));
    }
    Node grad =
        b.attr("epsilon", n.floatAttr("epsilon"))
            .attr("data_format", n.stringAttr("data_format"))
            .attr("is_training", training)
            .add();
    List<Output> outputs = grad.outputs();
    for (int i = 0; i < 3; i++) {
      g.dx(i, outputs.get(i));
    }
  }

  /** What nobody reads; TensorFlow's kernels of the types have it in different shapes. */
  private static Shape reserved(Node node) {
    return isHalf(node) ? Shape.of(0) : Shape.scalar();
  }

  private static boolean isHalf(Node node) {
    return node.input(0).dtype() == DType.HALF;
  }

  private static Tensor asFloats(Tensor t) {
    if (t.dtype() == DType.FLOAT) {
      return Refs.retain(t);
    }
    Tensor wide = Refs.allocate(DType.FLOAT, t.shape());
    ElementCast.run(t, wide);
    return wide;
  }

  private static void refuse(Node node) {
    if (node.hasAttr("U") && node.typeAttr("U") != DType.FLOAT) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          node.op().name()
              + " '"
              + node.name()
              + "': statistics of type "
              + node.typeAttr("U")
              + " have no kernel, only float.");
    }
  }

  private static void requireShape(KernelContext c, int i, Shape needed) {
    if (!c.input(i).shape().equals(needed)) {
      throw MillraceException.invalid(
          "input %d ('%s') must have shape %s; it has %s.",
          i, c.node().input(i).name(), needed, c.input(i).shape());
    }
  }
}
