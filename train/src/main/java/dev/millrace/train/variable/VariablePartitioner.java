package dev.millrace.train.variable;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;

/** Into how many parts a variable is cut. */
@FunctionalInterface
public interface VariablePartitioner {
  /** The number of parts along each dimension; more than one along at most one of them. */
  int[] partition(Shape shape, DType dtype);

  /** Always {@code parts} parts along {@code axis}. */
  static VariablePartitioner fixedSize(int parts, int axis) {
    return (shape, dtype) -> along(shape, axis, parts);
  }

  /** As many parts along {@code axis} as it takes for none to be above {@code maxBytes}. */
  static VariablePartitioner byAxisSize(long maxBytes, int axis) {
    return (shape, dtype) -> {
      long rowBytes = dtype.bytes() * shape.elements() / Math.max(1, shape.dim(axis));
      long rows = Math.max(1, maxBytes / Math.max(1, rowBytes));
      return along(shape, axis, Math.ceilDiv(shape.dim(axis), rows));
    };
  }

  /**
   * At most {@code most} parts along {@code axis}, of about {@code minBytes} or more: rounded up,
   * as TensorFlow does, so that its parts have the same names.
   */
  static VariablePartitioner minMax(int most, int axis, long minBytes) {
    return (shape, dtype) -> {
      long bytes = dtype.bytes() * shape.elements();
      return along(shape, axis, Math.min(most, Math.ceilDiv(bytes, Math.max(1, minBytes))));
    };
  }

  private static int[] along(Shape shape, int axis, long parts) {
    if (axis < 0 || axis >= shape.rank()) {
      throw MillraceException.invalid(
          "A variable of shape %s cannot be cut along axis %d.", shape, axis);
    }
    int[] all = new int[shape.rank()];
    java.util.Arrays.fill(all, 1);
    all[axis] = (int) Math.max(1, Math.min(parts, shape.dim(axis)));
    return all;
  }
}
