package dev.millrace.serving.model;

import dev.millrace.base.MillraceException;
import dev.millrace.proto.TensorInfo;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.wire.TensorCodec;

/**
 * An input or output of a signature.
 *
 * @param name what callers call it
 * @param tensor the name of the tensor in the graph
 * @param dtype the type of its elements
 * @param shape its shape, as far as the model says
 */
public record TensorSpec(String name, String tensor, DType dtype, Shape shape) {
  static TensorSpec of(String name, TensorInfo info) {
    if (info.getName().isEmpty()) {
      throw MillraceException.invalid(
          "'%s' is a sparse tensor; signatures with those cannot be called.", name);
    }
    return new TensorSpec(
        name,
        info.getName(),
        DType.of(info.getDtypeValue()),
        TensorCodec.decode(info.getTensorShape()));
  }

  /** Whether its first dimension may have any size, so that rows can be put together. */
  public boolean hasRows() {
    return shape.hasRank() && shape.rank() > 0 && shape.dim(0) == Shape.UNKNOWN;
  }

  @Override
  public String toString() {
    return name + " " + dtype + (shape.hasRank() ? shape : " of any shape");
  }
}
