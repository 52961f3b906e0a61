package dev.millrace.graph;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Map;

/**
 * Evaluates values that are known while a graph is built. Follows only cheap computations:
 * constants, and the arithmetic on shapes in gradients and reshapes.
 *
 * <p>Often only some dimensions of a shape are known. Such a vector passes through ops that only
 * move elements, with -1 for an unknown dimension.
 */
final class ConstantValue {
  private static final int MAX_DEPTH = 12;
  private static final long MAX_ELEMENTS = 1024;

  /**
   * The ops that only move elements, with the number of inputs that they move: a count from the
   * first input, or if negative, all but that many at the end. The other inputs control the move
   * and must be known.
   */
  private static final Map<String, Integer> MOVERS =
      Map.of(
          "Identity", 1,
          "Cast", 1,
          "Reshape", 1,
          "ExpandDims", 1,
          "Squeeze", 1,
          "Unpack", 1,
          "Slice", 1,
          "StridedSlice", 1,
          "GatherV2", 1,
          "ConcatV2", -1);

  /** A value; if it is not {@code exact}, its elements that are -1 may be anything. */
  private record Known(Tensor value, boolean exact) {}

  private ConstantValue() {}

  /** The value of {@code out}, or null if it is unknown. The caller does not own it. */
  static Tensor of(Output out) {
    Known k = known(out, 0);
    return k != null && k.exact ? k.value : null;
  }

  /**
   * The shape that a vector describes, possibly with unknown dimensions; null if its length is
   * unknown.
   */
  static Shape asShape(Output out) {
    Known k = known(out, 0);
    if (k == null || k.value.shape().rank() != 1 || !DType.INDEX.contains(k.value.dtype())) {
      return null;
    }
    long[] d = k.value.toLongs();
    for (int i = 0; i < d.length; i++) {
      d[i] = Math.max(d[i], Shape.UNKNOWN);
    }
    return Shape.of(d);
  }

  private static Known known(Output out, int depth) {
    if (out == null || depth > MAX_DEPTH) {
      return null;
    }
    Node n = out.node();
    return switch (n.op().name()) {
      case "Const" -> new Known(n.tensorAttr("value"), true);
      case "Shape", "ShapeN" -> {
        Shape s = n.input(out.index()).shape();
        yield s.hasRank() ? new Known(dims(s, out.dtype()), s.isKnown()) : null;
      }
      case "Rank" -> {
        Shape s = n.input(0).shape();
        yield s.hasRank() ? new Known(Tensor.scalar(s.rank()), true) : null;
      }
      case "Size" -> {
        Shape s = n.input(0).shape();
        yield s.isKnown() ? new Known(scalar(s.elements(), out.dtype()), true) : null;
      }
      default -> isFollowed(out) ? computed(out, depth) : null;
    };
  }

  private static boolean isFollowed(Output out) {
    Node n = out.node();
    return !n.op().isStateful()
        && !n.op().isAsync()
        && n.op().role() == Op.Role.ORDINARY
        && n.inputCount() > 0
        && out.shape().isKnown()
        && out.shape().elements() <= MAX_ELEMENTS;
  }

  private static Known computed(Output out, int depth) {
    Node n = out.node();
    int moved = moved(n, out.dtype());
    Tensor[] in = new Tensor[n.inputCount()];
    boolean exact = true;
    for (int i = 0; i < in.length; i++) {
      Output input = n.input(i);
      if (input == null || input.isRef()) {
        return null;
      }
      Known k = known(input, depth + 1);
      if (k == null && moved > 1 && input.shape().isKnown()) {
        // One of several parts is unknown; the others may still be useful.
        k = new Known(unknown(input), false);
      }
      if (k == null || k.value.elements() > MAX_ELEMENTS || !(k.exact || i < moved)) {
        return null;
      }
      exact &= k.exact;
      in[i] = k.value;
    }
    Tensor value = run(n, in, out.index());
    return value == null ? null : new Known(value, exact || isComplete(value));
  }

  private static Tensor run(Node n, Tensor[] in, int index) {
    try {
      Tensor[] results = Eager.run(n, in);
      Tensor value = Refs.constant(results[index]);
      Refs.releaseAll(results);
      return value;
    } catch (MillraceException e) {
      // The error belongs to the step that runs the node, if any does.
      return null;
    }
  }

  /** The number of leading inputs whose elements the node only moves. */
  private static int moved(Node n, DType type) {
    if (!DType.INDEX.contains(type)) {
      return 0;
    }
    if (n.op().name().equals("Pack")) {
      return n.inputCount();
    }
    int moved = MOVERS.getOrDefault(n.op().name(), 0);
    return moved < 0 ? n.inputCount() + moved : moved;
  }

  private static boolean isComplete(Tensor t) {
    for (long i = 0; i < t.elements(); i++) {
      if (t.longAt(i) == Shape.UNKNOWN) {
        return false;
      }
    }
    return true;
  }

  private static Tensor unknown(Output out) {
    Tensor t = Tensor.allocate(out.dtype(), out.shape());
    for (long i = 0; i < t.elements(); i++) {
      t.setLong(i, Shape.UNKNOWN);
    }
    return t;
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
