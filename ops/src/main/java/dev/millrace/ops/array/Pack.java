package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Tensors of one shape stacked along a new dimension; TensorFlow's {@code stack}. */
public final class Pack {
  public static final Op OP =
      Op.define("Pack")
          .attr("N: int >= 1")
          .attr("T: type")
          .attr("axis: int = 0")
          .input("values: N * T")
          .output("output: T")
          .shape(Pack::infer)
          .kernelPerNode(Pack::kernel)
          .gradient(
              g -> {
                int n = g.node().inputCount();
                List<Output> parts = Unpack.of(g.scope(), g.dy(), n, g.node().intAttr("axis"));
                for (int i = 0; i < n; i++) {
                  g.dx(i, parts.get(i));
                }
              })
          .build();

  private Pack() {}

  /** Stacked along a new first dimension. */
  public static Output of(Scope scope, List<Output> values) {
    return of(scope, values, 0);
  }

  /** Stacked along a new dimension {@code axis}; negative counts from the end of the result. */
  public static Output of(Scope scope, List<Output> values, int axis) {
    return scope.node(OP).inputs(values).attr("axis", axis).add().output();
  }

  private static List<Shape> infer(ShapeContext c) {
    Shape s = Shape.unknown();
    for (int i = 0; i < c.inputCount(); i++) {
      s = s.mergeWith(c.input(i));
    }
    return List.of(stacked(s, c.inputCount(), c.node().longAttr("axis")));
  }

  private static Shape stacked(Shape part, int n, long axis) {
    if (!part.hasRank()) {
      return part;
    }
    int at = Axis.of(axis, part.rank() + 1);
    return part.slice(0, at).concat(Shape.of(n)).concat(part.slice(at, part.rank()));
  }

  private static Kernel kernel(Node node) {
    long axis = node.longAttr("axis");
    return c -> {
      Shape s = c.input(0).shape();
      int n = c.inputCount();
      for (int i = 1; i < n; i++) {
        if (!c.input(i).shape().equals(s)) {
          throw MillraceException.invalid(
              "Shapes of all inputs must match: values[0].shape = %s != values[%d].shape = %s",
              s, i, c.input(i).shape());
        }
      }
      Tensor out = c.allocate(0, stacked(s, n, axis));
      int at = Axis.of(axis, s.rank() + 1);
      long inner = s.slice(at, s.rank()).elements();
      long outer = s.slice(0, at).elements();
      for (int i = 0; i < n; i++) {
        Runs.interleave(outer, inner, c.input(i), 0, inner, out, i * inner, n * inner);
      }
    };
  }
}
