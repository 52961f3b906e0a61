package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;

/** The slices of a tensor along a dimension, without that dimension; {@code unstack}. */
public final class Unpack {
  public static final Op OP =
      Op.define("Unpack")
          .attr("num: int >= 0")
          .attr("T: type")
          .attr("axis: int = 0")
          .input("value: T")
          .output("output: num * T")
          .shape(Unpack::infer)
          .kernelPerNode(Unpack::kernel)
          .gradient(Unpack::gradient)
          .build();

  private Unpack() {}

  /** The {@code num} slices along dimension {@code axis}, which must be that long. */
  public static List<Output> of(Scope scope, Output value, int num, int axis) {
    return scope.node(OP).input(value).attr("num", num).attr("axis", axis).add().outputs();
  }

  private static List<Shape> infer(ShapeContext c) {
    int num = c.node().intAttr("num");
    return Collections.nCopies(num, slice(c.input(0), num, c.node().longAttr("axis")));
  }

  private static Shape slice(Shape in, int num, long axis) {
    if (!in.hasRank()) {
      return in;
    }
    int at = Axis.of(axis, in.rank());
    if (in.dim(at) >= 0 && in.dim(at) != num) {
      throw MillraceException.invalid(
          "Input shape axis %d must equal %d, got shape %s", at, num, in);
    }
    return in.slice(0, at).concat(in.slice(at + 1, in.rank()));
  }

  private static Kernel kernel(Node node) {
    int num = node.intAttr("num");
    long axis = node.longAttr("axis");
    return c -> {
      Tensor in = c.input(0);
      Shape part = slice(in.shape(), num, axis);
      int at = Axis.of(axis, in.shape().rank());
      long inner = part.slice(at, part.rank()).elements();
      long outer = part.slice(0, at).elements();
      for (int i = 0; i < num; i++) {
        Tensor out = c.allocate(i, part);
        Runs.interleave(outer, inner, in, i * inner, num * inner, out, 0, inner);
      }
    };
  }

  private static void gradient(GradientContext g) {
    List<Output> parts = IntStream.range(0, g.node().outputCount()).mapToObj(g::dy).toList();
    if (parts.isEmpty()) {
      return;
    }
    g.dx(0, Pack.of(g.scope(), parts, g.node().intAttr("axis")));
  }
}
