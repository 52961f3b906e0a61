package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import java.util.List;

/** A value to be fed to every run; running it unfed is an error, or gives the default. */
public final class Placeholder {
  public static final Op OP =
      Op.define("Placeholder")
          .attr("dtype: type")
          .attr("shape: shape = ?")
          .output("output: dtype")
          .shape(Shapes.attr("shape"))
          .kernelPerNode(Placeholder::unfed)
          .noGradient("what is fed depends on nothing in the graph")
          .build();

  public static final Op V2 =
      Op.define("PlaceholderV2")
          .attr("dtype: type")
          .attr("shape: shape")
          .output("output: dtype")
          .shape(Shapes.attr("shape"))
          .kernelPerNode(Placeholder::unfed)
          .noGradient("what is fed depends on nothing in the graph")
          .build();

  public static final Op WITH_DEFAULT =
      Op.define("PlaceholderWithDefault")
          .attr("dtype: type")
          .attr("shape: shape")
          .input("input: dtype")
          .output("output: dtype")
          .shape(
              c -> {
                Shape shape = c.node().shapeAttr("shape");
                if (!c.input(0).isCompatibleWith(shape)) {
                  throw MillraceException.invalid(
                      "the default has shape %s, the placeholder %s.", c.input(0), shape);
                }
                return List.of(shape);
              })
          .kernel(c -> c.output(0, Refs.retain(c.input(0))))
          .gradient(g -> g.dx(0, g.dy()))
          .build();

  private Placeholder() {}

  /** Adds a placeholder; unknown dimensions may differ from run to run. */
  public static Output of(Scope scope, DType dtype, Shape shape) {
    return scope.node(OP).attr("dtype", dtype).attr("shape", shape).add().output();
  }

  /** A placeholder that gives {@code value} in runs that do not feed it. */
  public static Output withDefault(Scope scope, Output value, Shape shape) {
    return scope.node(WITH_DEFAULT).input(value).attr("shape", shape).add().output();
  }

  private static Kernel unfed(Node node) {
    return c -> {
      Shape s = node.shapeAttr("shape");
      throw MillraceException.invalid(
          "You must feed a value for placeholder tensor '%s' with dtype %s%s",
          node.name(), node.typeAttr("dtype"), s.hasRank() ? " and shape " + s : "");
    };
  }
}
