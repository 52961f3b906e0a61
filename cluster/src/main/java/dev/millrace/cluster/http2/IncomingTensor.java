package dev.millrace.cluster.http2;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.WireFormat;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.RecvTensorResponse;
import dev.millrace.proto.TensorShapeProto;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.TensorCodec;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * A RecvTensorResponse that arrives in pieces of any size. As soon as type and shape are known the
 * tensor is made, and the elements go straight into its memory. Messages that are small, or of a
 * form that no large tensor has, are gathered and read as a whole.
 *
 * <p>Threading: one thread at a time.
 */
final class IncomingTensor {
  private static final int SMALL = 16 << 10;

  /** What precedes the elements is shorter than this: a shape has few dimensions. */
  private static final int LONGEST_HEAD = 4 << 10;

  private final byte[] prefix = new byte[TensorResponse.PREFIX];
  private int prefixLength;

  /** Length of the message, and how much of it has come. */
  private int length;

  private int taken;

  /** What has come, the elements aside. */
  private byte[] other = new byte[128];

  private int otherLength;

  /** Whether the message is gathered as a whole. */
  private boolean gathered;

  private Tensor tensor;
  private MemorySegment elements;
  private long filled;

  /** Whether the next bytes are elements: then the caller may put them into {@link #room}. */
  boolean takesElements() {
    return tensor != null && filled < elements.byteSize();
  }

  /** Where the elements that are still to come belong. */
  MemorySegment room() {
    return elements.asSlice(filled);
  }

  /** Says that {@code n} bytes of {@link #room} have been filled. */
  void filled(int n) {
    filled += n;
    taken += n;
  }

  /** Takes all of {@code piece}. */
  void take(ByteBuffer piece) throws IOException {
    while (piece.hasRemaining()) {
      if (prefixLength < prefix.length) {
        takePrefix(piece);
      } else if (taken == length) {
        throw new IOException("more than one message in answer to RecvTensor");
      } else if (takesElements()) {
        int n = (int) Math.min(piece.remaining(), elements.byteSize() - filled);
        MemorySegment.copy(
            MemorySegment.ofBuffer(piece.slice(piece.position(), n)), 0, elements, filled, n);
        piece.position(piece.position() + n);
        filled(n);
      } else {
        takeOther(piece);
      }
    }
  }

  private void takePrefix(ByteBuffer piece) throws IOException {
    prefix[prefixLength++] = piece.get();
    if (prefixLength == prefix.length) {
      ByteBuffer p = ByteBuffer.wrap(prefix);
      if (p.get() != 0) {
        throw new IOException("a compressed message, which was not asked for");
      }
      length = p.getInt();
      if (length < 0) {
        throw new IOException("a message of more than 2 GiB");
      }
      gathered = length <= SMALL;
    }
  }

  private void takeOther(ByteBuffer piece) throws IOException {
    int most = gathered || tensor != null ? length - taken : LONGEST_HEAD - otherLength;
    int n = Math.min(piece.remaining(), Math.min(most, length - taken));
    if (otherLength + n > other.length) {
      long larger = Math.max(otherLength + (long) n, 2L * other.length);
      other = Arrays.copyOf(other, (int) Math.min(larger, Integer.MAX_VALUE - 8));
    }
    piece.get(other, otherLength, n);
    otherLength += n;
    taken += n;
    if (!gathered && tensor == null) {
      readHead();
      gathered = tensor == null && otherLength == LONGEST_HEAD;
    }
  }

  /** Makes the tensor if what precedes its elements is there, in the order that allows it. */
  private void readHead() throws IOException {
    CodedInputStream in = CodedInputStream.newInstance(other, 0, otherLength);
    try {
      if (WireFormat.getTagFieldNumber(in.readTag()) != TensorResponse.TENSOR) {
        gathered = true;
        return;
      }
      int tensorLength = in.readRawVarint32();
      int tensorStart = in.getTotalBytesRead();
      DType dtype = null;
      Shape shape = Shape.scalar();
      while (!in.isAtEnd()) {
        int field = WireFormat.getTagFieldNumber(in.readTag());
        if (field == TensorResponse.DTYPE) {
          dtype = DType.of(in.readEnum());
        } else if (field == TensorResponse.SHAPE) {
          shape = TensorCodec.decode(TensorShapeProto.parseFrom(in.readByteArray()));
        } else {
          int content = field == TensorResponse.CONTENT ? in.readRawVarint32() : -1;
          int start = in.getTotalBytesRead();
          boolean last = start - tensorStart + (long) content == tensorLength;
          if (content >= 0 && last && dtype != null && dtype.isPlain()) {
            begin(dtype, shape, content, start);
          } else {
            gathered = true;
          }
          return;
        }
      }
    } catch (InvalidProtocolBufferException e) {
      // It ends inside a field, or is not what it should be: the whole of it will tell.
    }
  }

  private void begin(DType dtype, Shape shape, int content, int start) throws IOException {
    if (!shape.isKnown() || shape.elements() * dtype.bytes() != content) {
      throw new IOException(
          "content of " + content + " bytes for a " + dtype + " tensor of shape " + shape);
    }
    if (start + (long) content > length) {
      throw new IOException("a field claims " + content + " of a message of " + length + " bytes");
    }
    tensor = Refs.allocate(dtype, shape);
    elements = tensor.data().asSlice(0, content);
    int n = Math.min(otherLength - start, content);
    MemorySegment.copy(MemorySegment.ofArray(other), start, elements, 0, n);
    filled = n;
    other = Arrays.copyOfRange(other, start + n, otherLength);
    otherLength = other.length;
  }

  /** What has arrived, all of it; the reference to the tensor passes to the caller. */
  ReceivedTensor end() throws IOException {
    if (prefixLength < prefix.length || taken < length) {
      throw new IOException(
          "the answer ends after " + taken + (length == 0 ? "" : " of " + length) + " bytes");
    }
    RecvTensorResponse rest =
        RecvTensorResponse.parser().parseFrom(CodedInputStream.newInstance(other, 0, otherLength));
    Tensor t = tensor;
    tensor = null;
    if (rest.getIsDead()) {
      if (t != null) {
        Refs.release(t);
      }
      return new ReceivedTensor(null, true);
    }
    try {
      return new ReceivedTensor(t != null ? t : TensorCodec.decodeCounted(rest.getTensor()), false);
    } catch (MillraceException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  /** Gives back what has been made, if it has not been handed out. */
  void release() {
    if (tensor != null) {
      Refs.release(tensor);
      tensor = null;
    }
  }
}
