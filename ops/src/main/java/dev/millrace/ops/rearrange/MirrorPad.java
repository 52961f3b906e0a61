package dev.millrace.ops.rearrange;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.ZerosLike;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import dev.millrace.tensor.math.complex.ComplexElements;
import java.util.List;

/**
 * A tensor with its own elements mirrored around it: with REFLECT the border itself is not
 * repeated, with SYMMETRIC it is.
 */
final class MirrorPad {
  static final Op OP =
      define("MirrorPad")
          .shape(c -> infer(c, true))
          .kernelPerNode(node -> kernel(node, true))
          .gradient(g -> gradient(g, "MirrorPadGrad"))
          .build();

  static final Op GRAD =
      define("MirrorPadGrad")
          .shape(c -> infer(c, false))
          .kernelPerNode(node -> kernel(node, false))
          .gradient(g -> gradient(g, "MirrorPad"))
          .build();

  static final List<Op> ALL = List.of(OP, GRAD);

  private MirrorPad() {}

  private static Op.Builder define(String name) {
    return Op.define(name)
        .attr("T: type")
        .attr("Tpaddings: {int32, int64} = int32")
        .attr("mode: {'REFLECT', 'SYMMETRIC'}")
        .input("input: T")
        .input("paddings: Tpaddings")
        .output("output: T");
  }

  private static List<Shape> infer(ShapeContext c, boolean pads) {
    Shape s = c.input(0);
    Shape paddings = c.inputOfRank(1, 2);
    if (!s.hasRank()) {
      long rank = paddings.dim(0);
      return List.of(rank < 0 ? s : Shape.unknownOfRank(Math.toIntExact(rank)));
    }
    Tensor values = c.constant(1);
    if (values == null) {
      return List.of(Shape.unknownOfRank(s.rank()));
    }
    return List.of(size(s, values, border(c.node()), pads));
  }

  /** How many elements at the border are not repeated. */
  private static int border(Node node) {
    return node.stringAttr("mode").equals("REFLECT") ? 1 : 0;
  }

  /** The shape with the padding, or without it. */
  private static Shape size(Shape s, Tensor paddings, int border, boolean pads) {
    if (!paddings.shape().equals(Shape.of(s.rank(), 2))) {
      throw MillraceException.invalid(
          "The first dimension of paddings must be the rank of inputs, the second 2: paddings %s,"
              + " inputs %s",
          paddings.shape(), s);
    }
    Shape result = s;
    for (int d = 0; d < s.rank(); d++) {
      long before = paddings.longAt(2L * d);
      long after = paddings.longAt(2L * d + 1);
      if (before < 0 || after < 0) {
        throw MillraceException.invalid(
            "paddings must be non-negative: %d %d in dimension %d", before, after, d);
      }
      if (s.dim(d) < 0) {
        continue;
      }
      long inner = pads ? s.dim(d) : s.dim(d) - before - after;
      if (before > inner - border || after > inner - border) {
        throw MillraceException.invalid(
            "paddings must be no greater than the dimension size%s: %d, %d greater than %d",
            border == 1 ? " less one" : "", before, after, inner);
      }
      result = result.withDim(d, pads ? inner + before + after : inner);
    }
    return result;
  }

  private static Kernel kernel(Node node, boolean pads) {
    int border = border(node);
    DType type = node.output(0).dtype();
    if (!pads && !DType.NUMERIC.contains(type)) {
      throw new MillraceException(
          Code.UNIMPLEMENTED, "MirrorPadGrad '" + node.name() + "' cannot add " + type + " here.");
    }
    return c -> {
      Tensor x = c.input(0);
      Tensor paddings = c.input(1);
      Shape s = size(x.shape(), paddings, border, pads);
      Tensor y = c.allocate(0, s);
      Shape outer = pads ? s : x.shape();
      Shape inner = pads ? x.shape() : s;
      if (!pads) {
        ZerosLike.clear(y);
      }
      long[] strides = StridedCopy.rowMajor(inner.dims());
      for (long i = 0; i < outer.elements(); i++) {
        long at = 0;
        long rest = i;
        for (int d = outer.rank() - 1; d >= 0; d--) {
          long size = inner.dim(d);
          long k = rest % outer.dim(d) - paddings.longAt(2L * d);
          rest /= outer.dim(d);
          k = k < 0 ? -k - 1 + border : k >= size ? 2 * size - 1 - border - k : k;
          at += k * strides[d];
        }
        if (pads) {
          StridedCopy.copyRun(x, at, y, i, 1);
        } else {
          add(x, i, y, at);
        }
      }
    };
  }

  private static void add(Tensor from, long i, Tensor to, long at) {
    DType type = to.dtype();
    if (type.isComplex()) {
      var sum =
          ComplexElements.at(type, to.data(), at).plus(ComplexElements.at(type, from.data(), i));
      ComplexElements.set(type, to.data(), at, sum);
    } else if (type.isFloating()) {
      to.setDouble(at, to.doubleAt(at) + from.doubleAt(i));
    } else {
      to.setLong(at, to.longAt(at) + from.longAt(i));
    }
  }

  private static void gradient(GradientContext g, String other) {
    g.dx(
        0,
        g.scope()
            .node(other)
            .input(g.dy())
            .input(g.input(1))
            .attr("mode", g.node().stringAttr("mode"))
            .add()
            .output());
  }
}
