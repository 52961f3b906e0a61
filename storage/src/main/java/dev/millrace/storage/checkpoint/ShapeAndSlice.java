package dev.millrace.storage.checkpoint;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Shape;
import java.util.Optional;

/**
 * The full shape of a saved tensor and the slice of it that is stored. Written {@code 300 2
 * 0,150:0,2} in the inputs of TensorFlow's SaveV2 and RestoreV2.
 */
public record ShapeAndSlice(Shape shape, TensorSlice slice) {
  public ShapeAndSlice {
    slice.within(shape);
  }

  /** Reads TensorFlow's form; the empty string means no slice at all. */
  public static Optional<ShapeAndSlice> parse(String text) {
    if (text.isEmpty()) {
      return Optional.empty();
    }
    String[] parts = text.split(" ", -1);
    long[] dims = new long[parts.length - 1];
    for (int i = 0; i < dims.length; i++) {
      try {
        dims[i] = Long.parseLong(parts[i]);
      } catch (NumberFormatException e) {
        dims[i] = -1;
      }
      if (dims[i] < 0) {
        throw MillraceException.invalid(
            "Shape and slice '%s': '%s' is not a dimension. Need the dimensions of the whole tensor"
                + " and then the slice, as in '300 2 0,150:0,2'.",
            text, parts[i]);
      }
    }
    return Optional.of(
        new ShapeAndSlice(Shape.of(dims), TensorSlice.parse(parts[parts.length - 1])));
  }

  /** The shape of the slice. */
  public Shape sliceShape() {
    return slice.shapeIn(shape);
  }

  /** TensorFlow's form. */
  @Override
  public String toString() {
    StringBuilder s = new StringBuilder();
    for (int i = 0; i < shape.rank(); i++) {
      s.append(shape.dim(i)).append(' ');
    }
    return s.append(slice).toString();
  }
}
