package dev.millrace.train.data;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;

/** What one tensor of every element is: its type and its shape. */
public record ElementType(DType dtype, Shape shape) {
  /** Checks that the shape is known. */
  public ElementType {
    if (!shape.isKnown()) {
      throw MillraceException.invalid(
          "A column of %s%s has no fixed shape; give every dimension.", dtype, shape);
    }
  }

  /** Single values of {@code dtype}. */
  public static ElementType scalar(DType dtype) {
    return new ElementType(dtype, Shape.scalar());
  }

  @Override
  public String toString() {
    return dtype + (shape.rank() == 0 ? "" : shape.toString());
  }
}
