package dev.millrace.ops.array;

import static dev.millrace.ops.array.MathNodes.sub;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/** A tensor with {@code paddings[i]} elements put before and behind it in each dimension i. */
public final class Pad {
  public static final Op OP =
      Op.define("Pad")
          .attr("T: type")
          .attr("Tpaddings: {int32, int64} = int32")
          .input("input: T")
          .input("paddings: Tpaddings")
          .output("output: T")
          .shape(Pad::infer)
          .kernel(c -> compute(c, null))
          .gradient(Pad::gradient)
          .build();

  /** Padded with a given value instead of zeros. */
  public static final Op V2 =
      Op.define("PadV2")
          .attr("T: type")
          .attr("Tpaddings: {int32, int64} = int32")
          .input("input: T")
          .input("paddings: Tpaddings")
          .input("constant_values: T")
          .output("output: T")
          .shape(Pad::infer)
          .kernel(c -> compute(c, c.input(2)))
          .gradient(
              g -> {
                Scope s = g.scope();
                Output inside = gradient(g);
                g.dx(2, sub(s, MathNodes.sumAll(s, g.dy()), MathNodes.sumAll(s, inside)));
              })
          .build();

  private Pad() {}

  /**
   * {@code input} with zeros around it: a row of {@code paddings} per dimension, how many before
   * and how many after.
   */
  public static Output of(Scope scope, Output input, Output paddings) {
    return scope.add(OP, input, paddings).output();
  }

  private static List<Shape> infer(ShapeContext c) {
    Shape in = c.input(0);
    Shape p = c.inputOfRank(1, 2);
    Tensor paddings = c.constant(1);
    if (!in.hasRank()) {
      return List.of(p.dim(0) < 0 ? in : Shape.unknownOfRank(Math.toIntExact(p.dim(0))));
    }
    return List.of(paddings == null ? Shape.unknownOfRank(in.rank()) : padded(in, paddings));
  }

  private static Shape padded(Shape in, Tensor paddings) {
    if (!paddings.shape().equals(Shape.of(in.rank(), 2))) {
      throw MillraceException.invalid(
          "The first dimension of paddings must be the rank of inputs, the second 2: paddings %s,"
              + " inputs %s",
          paddings.shape(), in);
    }
    long[] d = new long[in.rank()];
    for (int i = 0; i < d.length; i++) {
      long before = paddings.longAt(2L * i);
      long after = paddings.longAt(2 * i + 1);
      if (before < 0 || after < 0) {
        throw MillraceException.invalid(
            "Paddings must be non-negative: %d %d in dimension %d", before, after, i);
      }
      long both = Math.addExact(before, after);
      d[i] = in.dim(i) < 0 ? Shape.UNKNOWN : Math.addExact(in.dim(i), both);
    }
    return Shape.of(d);
  }

  private static void compute(KernelContext c, Tensor value) {
    Tensor x = c.input(0);
    Tensor paddings = c.input(1);
    Shape out = padded(x.shape(), paddings);
    if (value != null && !value.shape().isScalar()) {
      throw MillraceException.invalid(
          "constant_values must be a scalar; it has shape %s.", value.shape());
    }
    if (out.equals(x.shape())) {
      c.output(0, Refs.retain(x));
      return;
    }
    Tensor y = c.allocate(0, out);
    if (value == null) {
      ZerosLike.clear(y);
    } else {
      dev.millrace.tensor.math.elementwise.TensorFill.with(value, y);
    }
    long[] to = StridedCopy.rowMajor(out.dims());
    long start = 0;
    for (int i = 0; i < to.length; i++) {
      start += paddings.longAt(2L * i) * to[i];
    }
    long[] d = x.shape().dims();
    StridedCopy.copy(d, x, 0, StridedCopy.rowMajor(d), y, start, to);
  }

  /** Cuts the padding off the gradient again. */
  private static Output gradient(GradientContext g) {
    Scope s = g.scope();
    Output x = g.input(0);
    Output paddings = g.input(1);
    Output shape = s.node(ShapeOf.OP).input(x).attr("out_type", paddings.dtype()).add().output();
    Output begin = Gather.of(s, paddings, Const.of(s, 0), 1);
    Output dx = Slice.of(s, g.dy(), begin, shape);
    dx.refineShape(x.shape());
    g.dx(0, dx);
    return dx;
  }
}
