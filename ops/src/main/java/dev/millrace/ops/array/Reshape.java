package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.GradientContext;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** The same elements in another shape; one dimension may be -1, whatever is left for it. */
public final class Reshape {
  public static final Op OP =
      Op.define("Reshape")
          .attr("T: type")
          .attr("Tshape: {int32, int64} = int32")
          .input("tensor: T")
          .input("shape: Tshape")
          .output("output: T")
          .shape(Reshape::infer)
          .kernelPerNode(Reshape::kernel)
          .gradient(Reshape::likeInput)
          .build();

  private Reshape() {}

  /**
   * The elements of {@code tensor} in another {@code shape} of as many; one dimension may be -1,
   * which is what is left for it.
   */
  public static Output of(Scope scope, Output tensor, Output shape) {
    return scope.add(OP, tensor, shape).output();
  }

  /** To a shape known now, in which one dimension may be unknown. */
  public static Output of(Scope scope, Output tensor, Shape shape) {
    return of(scope, tensor, Const.dims(scope, shape));
  }

  /** To the shape of {@code other}; {@code tensor} itself if that is its shape already. */
  static Output like(Scope scope, Output tensor, Output other) {
    return other.shape().isKnown() && tensor.shape().equals(other.shape())
        ? tensor
        : of(scope, tensor, ShapeOf.known(scope, other));
  }

  /** The gradient of every op that only changes the shape of its first input. */
  static void likeInput(GradientContext g) {
    g.dx(0, like(g.scope(), g.dy(), g.input(0)));
  }

  private static List<Shape> infer(ShapeContext c) {
    Shape in = c.input(0);
    c.inputOfRank(1, 1);
    Tensor wanted = c.constant(1);
    if (wanted != null) {
      return List.of(resolve(in, dims(wanted)));
    }
    // A shape only partly known cannot tell an unknown dimension from a -1, but an element count
    // may settle the only one.
    Shape s = c.constantAsShape(1);
    return List.of(s.hasRank() ? resolve(in, s.dims()) : s);
  }

  private static long[] dims(Tensor wanted) {
    if (wanted.shape().rank() > 1) {
      throw MillraceException.invalid(
          "the shape to reshape to must be a vector; it has shape %s.", wanted.shape());
    }
    return wanted.toLongs();
  }

  /**
   * The shape meant by {@code dims} for a tensor of shape {@code in}, as far as both are known. If
   * a dimension is to be 0, what is left for the -1 follows from the dimensions that are not.
   */
  private static Shape resolve(Shape in, long[] dims) {
    long known = 1;
    int open = -1;
    int opens = 0;
    boolean empty = false;
    for (int i = 0; i < dims.length; i++) {
      if (dims[i] < -1) {
        throw MillraceException.invalid("size %d must be non-negative, not %d.", i, dims[i]);
      }
      if (dims[i] == -1) {
        open = i;
        opens++;
      } else if (dims[i] == 0) {
        empty = true;
      } else {
        known = Math.multiplyExact(known, dims[i]);
      }
    }
    Shape wanted = Shape.of(dims);
    if (!in.isKnown() || opens > 1) {
      return wanted;
    }
    Shape result = wanted;
    if (open >= 0) {
      long left = 1;
      for (long d : in.dims()) {
        left *= d == 0 && empty ? 1 : d;
      }
      result = wanted.withDim(open, left / known);
    }
    if (result.elements() != in.elements()) {
      throw MillraceException.invalid(
          "Input to reshape is a tensor with %d values, but the requested shape %s: it is %s, and"
              + " the tensor's is %s.",
          in.elements(),
          open < 0 ? "has " + wanted.elements() : "requires a multiple of " + known,
          wanted,
          in);
    }
    return result;
  }

  private static Kernel kernel(Node node) {
    Node wanted = node.input(1).node();
    long[] known = wanted.op() == Const.OP ? dims(wanted.tensorAttr("value")) : null;
    LastShape result = new LastShape((in, dims) -> resolve(in, known));
    return c -> {
      Shape in = c.input(0).shape();
      Shape s = known != null ? result.of(in, in) : resolve(in, dims(c.input(1)));
      if (!s.isKnown()) {
        throw MillraceException.invalid(
            "Only one input size may be -1; the requested shape is %s.", s);
      }
      c.output(0, Refs.reshaped(c.input(0), s));
    };
  }
}
