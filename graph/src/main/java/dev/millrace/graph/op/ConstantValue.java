package dev.millrace.graph.op;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;

/**
 * Values known while a graph is built. Only small, cheap things are followed: constants, and the
 * arithmetic on shapes that gradients and reshapes are full of.
 */
final class ConstantValue {
  private static final int MAX_DEPTH = 12;
  private static final long MAX_ELEMENTS = 1024;

  private ConstantValue() {}

  /** The value of {@code out}, or null if it is not known now. Not owned by the caller. */
  static Tensor of(Output out) {
    return of(out, 0);
  }

  private static Tensor of(Output out, int depth) {
    if (out == null || depth > MAX_DEPTH) {
      return null;
    }
    Node n = out.node();
    switch (n.op().name()) {
      case "Const":
        return n.tensorAttr("value");
      case "Shape":
        return n.input(0).shape().isKnown()
            ? dims(n.input(0).shape(), n.typeAttr("out_type"))
            : null;
      case "Rank":
        return n.input(0).shape().hasRank() ? Tensor.scalar(n.input(0).shape().rank()) : null;
      case "Size":
        return n.input(0).shape().isKnown()
            ? scalar(n.input(0).shape().elements(), n.typeAttr("out_type"))
            : null;
      default:
        break;
    }
    if (n.op().isStateful()
        || n.op().isAsync()
        || n.op().role() != Op.Role.ORDINARY
        || n.inputCount() == 0
        || !out.shape().isKnown()
        || out.shape().elements() > MAX_ELEMENTS) {
      return null;
    }
    Tensor[] in = new Tensor[n.inputCount()];
    for (int i = 0; i < in.length; i++) {
      if (n.input(i) == null || n.input(i).isRef()) {
        return null;
      }
      in[i] = of(n.input(i), depth + 1);
      if (in[i] == null || in[i].elements() > MAX_ELEMENTS) {
        return null;
      }
    }
    return Eager.run(n, in)[out.index()].guarded();
  }

  /** The dimensions a vector describes, unknown ones as such, or null if not even its length is. */
  static Shape asShape(Output out) {
    return asShape(out, 0);
  }

  private static Shape asShape(Output out, int depth) {
    if (out == null || depth > MAX_DEPTH) {
      return null;
    }
    Tensor t = of(out);
    if (t != null) {
      if (t.shape().rank() != 1) {
        return null;
      }
      long[] d = t.toLongs();
      for (int i = 0; i < d.length; i++) {
        d[i] = Math.max(d[i], Shape.UNKNOWN);
      }
      return Shape.of(d);
    }
    Node n = out.node();
    switch (n.op().name()) {
      case "Shape":
        return n.input(0).shape();
      case "Identity", "Cast":
        return asShape(n.input(0), depth + 1);
      case "Pack":
        long[] d = new long[n.inputCount()];
        for (int i = 0; i < d.length; i++) {
          Tensor e = of(n.input(i));
          d[i] = e == null || e.elements() != 1 ? Shape.UNKNOWN : Math.max(e.longAt(0), -1);
        }
        return Shape.of(d);
      case "ConcatV2":
        Shape all = Shape.scalar();
        for (int i = 0; i < n.inputCount() - 1; i++) {
          Shape part = asShape(n.input(i), depth + 1);
          if (part == null) {
            return null;
          }
          all = all.concat(part);
        }
        return all;
      default:
        return null;
    }
  }

  private static Tensor dims(Shape s, DType type) {
    Tensor t = Tensor.allocate(type, Shape.of(s.rank()));
    for (int i = 0; i < s.rank(); i++) {
      t.setLong(i, s.dim(i));
    }
    return t;
  }

  private static Tensor scalar(long v, DType type) {
    Tensor t = Tensor.allocate(type, Shape.scalar());
    t.setLong(0, v);
    return t;
  }
}
