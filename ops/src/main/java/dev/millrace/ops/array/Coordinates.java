package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Arrays;

/** A tensor of coordinates: its last dimension holds the first few indices into a shape. */
public final class Coordinates {
  private final Tensor indices;
  private final Shape shape;
  private final int depth;
  private final long count;
  private final long length;

  /** Coordinates into a tensor of this shape, which has at least as many dimensions. */
  public Coordinates(Tensor indices, Shape shape) {
    this.indices = indices;
    this.shape = shape;
    this.depth = (int) indices.shape().dim(-1);
    this.count = indices.shape().slice(0, indices.shape().rank() - 1).elements();
    this.length = shape.slice(depth, shape.rank()).elements();
  }

  /** How many there are. */
  public long count() {
    return count;
  }

  /** How many elements each one stands for. */
  public long length() {
    return length;
  }

  /** The number of the row of {@link #length} elements that coordinate {@code i} names; or -1. */
  public long row(long i) {
    long row = 0;
    for (int d = 0; d < depth; d++) {
      long k = indices.longAt(i * depth + d);
      if (k < 0 || k >= shape.dim(d)) {
        return -1;
      }
      row = row * shape.dim(d) + k;
    }
    return row;
  }

  /** Coordinate {@code i}, as TensorFlow writes it. */
  public String text(long i) {
    StringBuilder s = new StringBuilder("[");
    for (int d = 0; d < depth; d++) {
      s.append(d == 0 ? "" : ",").append(indices.longAt(i * depth + d));
    }
    return s.append(']').toString();
  }

  /** The complaint about coordinate {@code i}. */
  public MillraceException outside(long i, String what) {
    long[] at = new long[depth];
    for (int d = 0; d < depth; d++) {
      at[d] = indices.longAt(i * depth + d);
    }
    Shape batch = indices.shape().slice(0, indices.shape().rank() - 1);
    return MillraceException.invalid(
        "indices[%s] = %s does not index into %s shape %s",
        Gather.position(batch, i), Arrays.toString(at), what, shape);
  }

  /** Whether the node's policy is to leave out coordinates that are outside. */
  public static boolean ignoresBad(Node node) {
    String policy = node.stringAttr("bad_indices_policy");
    return switch (policy) {
      case "", "DEFAULT", "ERROR" -> false;
      case "IGNORE" -> true;
      default ->
          throw MillraceException.invalid(
              "bad_indices_policy '%s' is not one of '', DEFAULT, ERROR and IGNORE.", policy);
    };
  }

  /** The shape of {@code x} in the type of {@code indices}. */
  public static Output shapeFor(Scope s, Output x, Output indices) {
    DType type = indices.dtype();
    return type == DType.INT64 ? ShapeOf.longs(s, x) : MathNodes.cast(s, ShapeOf.of(s, x), type);
  }
}
