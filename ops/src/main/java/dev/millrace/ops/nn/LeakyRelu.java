package dev.millrace.ops.nn;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.elementwise.Leaky;
import java.util.List;

/** {@code x} above zero, {@code alpha * x} below. */
public final class LeakyRelu {
  public static final Op OP =
      Op.define("LeakyRelu")
          .attr("alpha: float = 0.2")
          .attr("T: {half, bfloat16, float, double} = float")
          .input("features: T")
          .output("activations: T")
          .shape(Shapes.like(0))
          .kernelPerNode(
              node -> {
                float alpha = node.floatAttr("alpha");
                return c -> {
                  Tensor x = c.input(0);
                  Leaky.apply(x, alpha, c.allocateOrReuse(0, 0, x.shape()));
                };
              })
          .gradient(g -> g.dx(0, gradient(g.scope(), g.node(), g.dy(), g.input(0))))
          .build();

  public static final Op GRAD =
      Op.define("LeakyReluGrad")
          .attr("alpha: float = 0.2")
          .attr("T: {half, bfloat16, float, double} = float")
          .input("gradients: T")
          .input("features: T")
          .output("backprops: T")
          .shape(c -> List.of(c.input(0).mergeWith(c.input(1))))
          .kernelPerNode(
              node -> {
                float alpha = node.floatAttr("alpha");
                return c -> {
                  Tensor dy = c.input(0);
                  Shape s = dy.shape();
                  if (!s.equals(c.input(1).shape())) {
                    throw MillraceException.invalid(
                        "gradients and features must have the same shape; they are %s and %s.",
                        s, c.input(1).shape());
                  }
                  Leaky.gradient(dy, c.input(1), alpha, c.allocateOrReuse(0, 0, s));
                };
              })
          .gradient(LeakyRelu::again)
          .build();

  private LeakyRelu() {}

  /** {@code x} where that is above 0, else {@code alpha * x}. */
  public static Output of(Scope scope, Output x, float alpha) {
    return scope.node(OP).input(x).attr("alpha", alpha).add().output();
  }

  private static Output gradient(Scope scope, Node node, Output dy, Output x) {
    return scope
        .node("LeakyReluGrad")
        .input(dy)
        .input(x)
        .attr("alpha", node.floatAttr("alpha"))
        .add()
        .output();
  }

  /** Linear in the gradient, and flat in the features but for a single point. */
  private static void again(GradientContext g) {
    g.dx(0, gradient(g.scope(), g.node(), g.dy(), g.input(1)));
  }
}
