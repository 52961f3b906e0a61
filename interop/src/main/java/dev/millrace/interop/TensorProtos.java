package dev.millrace.interop;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import dev.millrace.proto.DataType;
import dev.millrace.proto.TensorProto;
import dev.millrace.proto.TensorShapeProto;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.ValueLayout;

/**
 * Tensors and shapes as the messages a GraphDef holds, written as TensorFlow itself writes them.
 */
final class TensorProtos {
  private TensorProtos() {}

  static TensorProto of(Tensor tensor) {
    TensorProto.Builder proto =
        TensorProto.newBuilder()
            .setDtype(DataType.forNumber(tensor.dtype().number()))
            .setTensorShape(of(tensor.shape()));
    if (tensor.dtype().isPlain()) {
      return proto
          .setTensorContent(
              UnsafeByteOperations.unsafeWrap(tensor.data().toArray(ValueLayout.JAVA_BYTE)))
          .build();
    }
    for (int i = 0; i < tensor.elements(); i++) {
      proto.addStringVal(ByteString.copyFrom(tensor.bytesAt(i)));
    }
    return proto.build();
  }

  static TensorShapeProto of(Shape shape) {
    TensorShapeProto.Builder proto = TensorShapeProto.newBuilder();
    if (!shape.hasRank()) {
      return proto.setUnknownRank(true).build();
    }
    for (long d : shape.dims()) {
      proto.addDim(TensorShapeProto.Dim.newBuilder().setSize(d));
    }
    return proto.build();
  }
}
