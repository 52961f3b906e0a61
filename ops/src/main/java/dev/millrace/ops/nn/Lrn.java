package dev.millrace.ops.nn;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Gradient;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.conv.ResponseNorm;
import java.util.List;

/**
 * Local response normalisation: each element over a power of the sum of squares of its neighbours
 * in the last dimension, {@code x / (bias + alpha * sum(x^2)) ^ beta}.
 */
public final class Lrn {
  public static final Op OP =
      settings(Op.define("LRN"))
          .input("input: T")
          .output("output: T")
          .shape(c -> List.of(c.inputOfRank(0, 4)))
          .kernelPerNode(Lrn::kernel)
          .gradient(
              g -> {
                var b = g.scope().node("LRNGrad");
                b.input(g.dy()).input(g.input(0)).input(g.output(0));
                for (String a : List.of("depth_radius", "bias", "alpha", "beta")) {
                  b.attr(a, g.node().attr(a));
                }
                g.dx(0, b.add().output());
              })
          .build();

  public static final Op GRAD =
      settings(Op.define("LRNGrad"))
          .input("input_grads: T")
          .input("input_image: T")
          .input("output_image: T")
          .output("output: T")
          .shape(
              c ->
                  List.of(
                      c.inputOfRank(0, 4)
                          .mergeWith(c.inputOfRank(1, 4))
                          .mergeWith(c.inputOfRank(2, 4))))
          .kernelPerNode(Lrn::gradientKernel)
          .gradient(Gradient.undefined("TensorFlow defines no second gradient of LRN"))
          .build();

  private Lrn() {}

  /** Adds the op with TensorFlow's default settings but for the reach to either side. */
  public static Output of(Scope scope, Output input, int depthRadius) {
    return scope.node(OP).input(input).attr("depth_radius", depthRadius).add().output();
  }

  private static Op.Builder settings(Op.Builder b) {
    return b.attr("depth_radius: int = 5")
        .attr("bias: float = 1")
        .attr("alpha: float = 1")
        .attr("beta: float = 0.5")
        .attr("T: {half, bfloat16, float} = float");
  }

  private static ResponseNorm norm(Node node) {
    if (node.longAttr("depth_radius") < 0) {
      throw MillraceException.invalid(
          "depth_radius must be 0 or more; it is %d.", node.longAttr("depth_radius"));
    }
    return new ResponseNorm(
        node.intAttr("depth_radius"),
        node.floatAttr("bias"),
        node.floatAttr("alpha"),
        node.floatAttr("beta"));
  }

  private static Kernel kernel(Node node) {
    ResponseNorm norm = norm(node);
    return c -> {
      Tensor x = c.input(0);
      if (x.shape().rank() != 4) {
        throw MillraceException.invalid("in must be 4-dimensional; it has shape %s", x.shape());
      }
      norm.apply(x, c.allocate(0, x.shape()));
    };
  }

  private static Kernel gradientKernel(Node node) {
    ResponseNorm norm = norm(node);
    return c -> {
      Shape s = c.input(0).shape();
      if (s.rank() != 4 || !s.equals(c.input(1).shape()) || !s.equals(c.input(2).shape())) {
        throw MillraceException.invalid(
            "input_grads, input_image and output_image must be 4-dimensional and of the same size;"
                + " they are %s, %s and %s",
            s, c.input(1).shape(), c.input(2).shape());
      }
      norm.gradient(c.input(0), c.input(1), c.input(2), c.allocate(0, s));
    };
  }
}
