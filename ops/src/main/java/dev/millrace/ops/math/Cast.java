package dev.millrace.ops.math;

import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;

/**
 * The same values in another element type; {@link dev.millrace.tensor.math.elementwise.ElementCast}
 * has the rules.
 */
public final class Cast {
  public static final Op OP = define("Cast");

  /** The same on the host, which is where Millrace computes anyway. */
  public static final Op HOST = define("_HostCast");

  private Cast() {}

  private static Op define(String name) {
    return Op.define(name)
        .attr("SrcT: type")
        .attr("DstT: type")
        .attr("Truncate: bool = false")
        .input("x: SrcT")
        .output("y: DstT")
        .shape(Shapes.like(0))
        .kernelPerNode(Cast::kernel)
        .gradient(Cast::gradient)
        .build();
  }

  /** {@code x} as {@code type}; {@code x} itself if it is that already. */
  public static Output of(Scope scope, Output x, DType type) {
    return x.dtype() == type ? x : scope.node(OP).input(x).attr("DstT", type).add().output();
  }

  private static Kernel kernel(Node node) {
    DType from = node.input(0).dtype();
    DType to = node.output(0).dtype();
    boolean truncate = node.booleanAttr("Truncate");
    if (from == to) {
      return c -> c.output(0, Refs.retain(c.input(0)));
    }
    Refusal.unless(from.isPlain() && to.isPlain(), node, from.isPlain() ? to : from);
    return c ->
        dev.millrace.tensor.math.elementwise.ElementCast.run(
            c.input(0), c.allocate(0, c.input(0).shape()), truncate);
  }

  /** What goes through an integer ends there. */
  private static void gradient(GradientContext g) {
    if (g.input(0).dtype().isDifferentiable() && g.output(0).dtype().isDifferentiable()) {
      g.dx(0, of(g.scope(), g.dy(), g.input(0).dtype()));
    }
  }
}
