package dev.millrace.train.variable;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Concat;
import dev.millrace.ops.array.Identity;
import dev.millrace.storage.checkpoint.TensorSlice;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.util.ArrayList;
import java.util.List;

/**
 * A variable in several parts, so that it can be larger than one parameter server or be read from
 * several at once.
 *
 * @param name the name of the tensor it is in checkpoints
 * @param axis the dimension along which it is cut
 * @param parts the parts, in order
 */
public record PartitionedVariable(
    String name, DType dtype, Shape shape, int axis, List<GraphVariable> parts) {
  public PartitionedVariable {
    parts = List.copyOf(parts);
  }

  /** Adds the whole value: the parts one after the other. */
  public Output read(Scope scope) {
    Scope s = scope.withSubScope("ConcatPartitions");
    List<Output> values = parts.stream().map(GraphVariable::read).toList();
    return values.size() == 1 ? Identity.of(s, values.getFirst()) : Concat.of(s, values, axis);
  }

  /** A part to be: which slice of the whole, and its shape. */
  record Piece(TensorSlice slice, Shape shape) {}

  /** Cuts a shape: the first parts are longer by one where it does not come out even. */
  static List<Piece> pieces(Shape shape, int[] counts) {
    int axis = -1;
    for (int i = 0; i < counts.length; i++) {
      if (counts[i] > 1 && axis >= 0) {
        throw MillraceException.invalid(
            "A variable can be cut along one dimension only, not along %d and %d.", axis, i);
      }
      axis = counts[i] > 1 ? i : axis;
    }
    axis = Math.max(axis, 0);
    if (shape.rank() == 0 || counts.length != shape.rank()) {
      throw MillraceException.invalid(
          "A variable of shape %s cannot be cut into parts along %d dimensions.",
          shape, counts.length);
    }
    long size = shape.dim(axis);
    int n = counts[axis];
    List<Piece> pieces = new ArrayList<>();
    long start = 0;
    for (int i = 0; i < n; i++) {
      long length = size / n + (i < size % n ? 1 : 0);
      long[] starts = new long[shape.rank()];
      long[] lengths = shape.dims();
      starts[axis] = start;
      lengths[axis] = length;
      pieces.add(new Piece(TensorSlice.of(starts, lengths), Shape.of(lengths)));
      start += length;
    }
    return pieces;
  }

  /** The dimension along which these pieces lie. */
  static int axis(List<Piece> pieces) {
    for (int i = 0; pieces.size() > 1 && i < pieces.getLast().shape().rank(); i++) {
      if (pieces.getLast().slice().start(i) > 0) {
        return i;
      }
    }
    return 0;
  }
}
