package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;

/** Reads the small integer tensors that say which dimension or which shape is meant. */
public final class Axis {
  private Axis() {}

  /** The dimension {@code axis} means in a tensor of this rank; negative counts from the end. */
  public static int of(long axis, int rank) {
    if (axis < -rank || axis >= rank) {
      throw MillraceException.invalid(
          "axis %d is outside a tensor of rank %d; it must be in the range [%d, %d).",
          axis, rank, -rank, rank);
    }
    return (int) (axis < 0 ? axis + rank : axis);
  }

  /** The axis in a tensor of one element, as an index from 0. */
  public static int of(Tensor axis, int rank) {
    return of(single(axis, "axis"), rank);
  }

  /** The only element of {@code t}; {@code what} names it in the complaint about any other size. */
  public static long single(Tensor t, String what) {
    if (t.elements() != 1) {
      throw MillraceException.invalid(
          "%s must be a scalar; it has shape %s (%d elements).", what, t.shape(), t.elements());
    }
    return t.longAt(0);
  }

  /** The shape a vector of dimensions (or a single one) describes; none may be negative. */
  public static Shape shape(Tensor dims) {
    if (dims.shape().rank() > 1) {
      throw MillraceException.invalid(
          "a shape must be given as a vector; this tensor has shape %s.", dims.shape());
    }
    long[] d = dims.toLongs();
    for (int i = 0; i < d.length; i++) {
      if (d[i] < 0) {
        throw MillraceException.invalid(
            "dimension %d of the shape is %d; it must be 0 or more.", i, d[i]);
      }
    }
    return Shape.of(d);
  }
}
