package dev.millrace.cluster.http2;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.RecvTensorResponse;
import dev.millrace.proto.TensorProto;
import dev.millrace.proto.TensorShapeProto;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.TensorCodec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;

/**
 * A RecvTensorResponse as gRPC sends it, in two parts: bytes made for the occasion, and the
 * elements as they lie in the tensor's memory.
 *
 * <p>Written always in the order dtype, shape, content, with content in full: TensorFlow's receiver
 * takes a missing content for uninitialised memory and dies of a content that comes too early.
 *
 * @param head gRPC's prefix and everything before the elements
 * @param elements the tensor whose memory follows; null if there is nothing more
 */
record TensorResponse(byte[] head, Tensor elements) {
  /** Length of what gRPC puts before a message: whether it is compressed, and its length. */
  static final int PREFIX = 5;

  static final int TENSOR = RecvTensorResponse.TENSOR_FIELD_NUMBER;
  static final int DTYPE = TensorProto.DTYPE_FIELD_NUMBER;
  static final int SHAPE = TensorProto.TENSOR_SHAPE_FIELD_NUMBER;
  static final int CONTENT = TensorProto.TENSOR_CONTENT_FIELD_NUMBER;

  /** The answer with {@code value}, whose reference passes to it. */
  static TensorResponse of(Tensor value) {
    if (value.dtype().isPlain()) {
      try {
        return new TensorResponse(headOf(value), value);
      } catch (MillraceException e) {
        Refs.release(value);
        throw e;
      }
    }
    TensorProto p = TensorCodec.encode(value);
    Refs.release(value);
    return whole(RecvTensorResponse.newBuilder().setTensor(p).build());
  }

  /** Word that the tensor is dead. */
  static TensorResponse ofDead() {
    return whole(
        RecvTensorResponse.newBuilder()
            .setTensor(
                TensorProto.newBuilder()
                    .setDtypeValue(DType.FLOAT.number())
                    .setTensorShape(TensorCodec.encode(Shape.of(0))))
            .setIsDead(true)
            .build());
  }

  private static TensorResponse whole(RecvTensorResponse r) {
    int size = r.getSerializedSize();
    byte[] bytes = new byte[PREFIX + size];
    ByteBuffer.wrap(bytes).put((byte) 0).putInt(size).put(r.toByteArray());
    return new TensorResponse(bytes, null);
  }

  private static byte[] headOf(Tensor t) {
    long content = t.byteSize();
    if (content > Integer.MAX_VALUE - 1024) {
      throw MillraceException.invalid(
          "A tensor of %d bytes does not fit a message of TensorFlow's protocol (2 GiB).", content);
    }
    TensorShapeProto shape = TensorCodec.encode(t.shape());
    int fields =
        CodedOutputStream.computeEnumSize(DTYPE, t.dtype().number())
            + CodedOutputStream.computeMessageSize(SHAPE, shape)
            + CodedOutputStream.computeTagSize(CONTENT)
            + CodedOutputStream.computeUInt32SizeNoTag((int) content);
    int tensor = fields + (int) content;
    int before =
        CodedOutputStream.computeTagSize(TENSOR) + CodedOutputStream.computeUInt32SizeNoTag(tensor);
    byte[] head = new byte[PREFIX + before + fields];
    ByteBuffer.wrap(head).put((byte) 0).putInt(before + tensor);
    CodedOutputStream out = CodedOutputStream.newInstance(head, PREFIX, before + fields);
    try {
      out.writeTag(TENSOR, WireFormat.WIRETYPE_LENGTH_DELIMITED);
      out.writeUInt32NoTag(tensor);
      out.writeEnum(DTYPE, t.dtype().number());
      out.writeMessage(SHAPE, shape);
      out.writeTag(CONTENT, WireFormat.WIRETYPE_LENGTH_DELIMITED);
      out.writeUInt32NoTag((int) content);
      out.checkNoSpaceLeft();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return head;
  }
}
