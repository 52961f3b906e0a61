package dev.millrace.ops.sparse;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.TensorProto;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;

/** Tensors as strings: a serialized message with all elements as bytes, as TensorFlow writes it. */
final class TensorMessage {
  private TensorMessage() {}

  static byte[] encode(Tensor t) {
    TensorProto.Builder proto = TensorProto.newBuilder().setDtypeValue(t.dtype().number());
    proto.getTensorShapeBuilder();
    for (long d : t.shape().dims()) {
      proto.getTensorShapeBuilder().addDimBuilder().setSize(d);
    }
    if (t.dtype().isPlain()) {
      proto.setTensorContent(ByteString.copyFrom(t.data().asByteBuffer()));
    } else if (t.dtype() == DType.STRING) {
      proto.setTensorContent(framed(t));
    } else {
      throw MillraceException.invalid("Values of type %s cannot be serialized.", t.dtype());
    }
    return proto.build().toByteArray();
  }

  /** The lengths of strings as varints, then all their bytes. */
  private static ByteString framed(Tensor t) {
    ByteString.Output out = ByteString.newOutput();
    try {
      CodedOutputStream coded = CodedOutputStream.newInstance(out);
      for (long i = 0; i < t.elements(); i++) {
        coded.writeUInt32NoTag(t.bytesAt(i).length);
      }
      for (long i = 0; i < t.elements(); i++) {
        coded.writeRawBytes(t.bytesAt(i));
      }
      coded.flush();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
    return out.toByteString();
  }

  /** With one counted reference. Every element must be there: nothing is filled in. */
  static Tensor decode(byte[] message) {
    try {
      TensorProto proto = TensorProto.parseFrom(message);
      DType type = DType.of(proto.getDtypeValue());
      long[] dims = new long[proto.getTensorShape().getDimCount()];
      ByteString content = proto.getTensorContent();
      boolean isEmpty = false;
      for (int i = 0; i < dims.length; i++) {
        dims[i] = proto.getTensorShape().getDim(i).getSize();
        isEmpty |= dims[i] == 0;
        if (dims[i] < 0) {
          throw new IOException("a dimension of " + dims[i]);
        }
      }
      // A plain element is at least one byte, and so is the length of a string.
      long most = content.size();
      for (long d : dims) {
        if (!isEmpty && (most /= d) == 0) {
          throw new IOException("less content than elements");
        }
      }
      Shape shape = Shape.of(dims);
      if (type == DType.STRING) {
        return strings(content, shape);
      }
      if (!type.isPlain() || shape.elements() * type.bytes() != content.size()) {
        throw new IOException(
            "%d bytes of content for %s of shape %s".formatted(content.size(), type, shape));
      }
      Tensor t = Refs.allocate(type, shape);
      content.copyTo(t.data().asByteBuffer());
      return t;
    } catch (IOException e) {
      throw MillraceException.invalid("Could not parse serialized proto: %s", e.getMessage());
    }
  }

  private static Tensor strings(ByteString content, Shape shape) throws IOException {
    CodedInputStream in = content.newCodedInput();
    Object[] elements = new Object[(int) shape.elements()];
    int[] lengths = new int[elements.length];
    for (int i = 0; i < lengths.length; i++) {
      lengths[i] = in.readUInt32();
    }
    for (int i = 0; i < lengths.length; i++) {
      elements[i] = in.readRawBytes(lengths[i]);
    }
    if (!in.isAtEnd()) {
      throw new IOException("bytes left over behind the last string");
    }
    return Refs.ofObjects(DType.STRING, shape, elements);
  }
}
