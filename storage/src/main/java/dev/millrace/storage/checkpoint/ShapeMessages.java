package dev.millrace.storage.checkpoint;

import dev.millrace.base.MillraceException;
import dev.millrace.proto.TensorShapeProto;
import dev.millrace.tensor.Shape;
import org.jspecify.annotations.Nullable;

/** Converts the shapes of stored tensors from messages. */
final class ShapeMessages {
  private ShapeMessages() {}

  static @Nullable TensorShapeProto of(Shape shape) {
    TensorShapeProto.Builder proto = TensorShapeProto.newBuilder();
    for (long d : shape.dims()) {
      proto.addDimBuilder().setSize(d);
    }
    return proto.build();
  }

  /**
   * The shape in {@code proto}, or null if no tensor can have it, which means that the file is
   * damaged.
   */
  static @Nullable Shape shape(TensorShapeProto proto) {
    long[] dims = proto.getDimList().stream().mapToLong(TensorShapeProto.Dim::getSize).toArray();
    try {
      Shape shape = Shape.of(dims);
      return shape.isKnown() && !proto.getUnknownRank() ? shape : null;
    } catch (MillraceException e) {
      return null;
    }
  }
}
