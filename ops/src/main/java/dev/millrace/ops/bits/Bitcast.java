package dev.millrace.ops.bits;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/**
 * The same bytes as elements of another type. Smaller elements add a dimension, larger ones take
 * the last one away.
 */
final class Bitcast {
  private static final String TYPES =
      "{bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16,"
          + " complex64, complex128, qint8, quint8, qint16, quint16, qint32}";

  static final Op OP =
      Op.define("Bitcast")
          .attr("T: " + TYPES)
          .attr("type: " + TYPES)
          .input("input: T")
          .output("output: type")
          .shape(Bitcast::infer)
          .kernel(Bitcast::compute)
          .noGradient("bits are not differentiable")
          .build();

  private Bitcast() {}

  private static List<Shape> infer(ShapeContext c) {
    Shape s = c.input(0);
    return List.of(s.hasRank() ? recast(s, c.node().typeAttr("T"), c.node().typeAttr("type")) : s);
  }

  private static Shape recast(Shape s, DType from, DType to) {
    if (from.bytes() == to.bytes()) {
      return s;
    }
    if (from.bytes() > to.bytes()) {
      return s.concat(Shape.of(from.bytes() / to.bytes()));
    }
    long wanted = to.bytes() / from.bytes();
    if (s.rank() == 0 || (s.dim(-1) >= 0 && s.dim(-1) != wanted)) {
      throw MillraceException.invalid(
          "Cannot bitcast from %s to %s: the last dimension of %s must be %d", from, to, s, wanted);
    }
    return s.slice(0, s.rank() - 1);
  }

  private static void compute(KernelContext c) {
    Tensor x = c.input(0);
    DType to = c.node().typeAttr("type");
    Shape s = recast(x.shape(), x.dtype(), to);
    if (to == x.dtype()) {
      c.output(0, Refs.retain(x));
      return;
    }
    c.allocate(0, s).data().copyFrom(x.data());
  }
}
