package dev.millrace.cluster.transport;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.TensorProto;
import dev.millrace.proto.TensorShapeProto;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.TensorCodec;
import io.grpc.Drainable;
import io.grpc.HasByteBuffer;
import io.grpc.KnownLength;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;

/**
 * RecvTensorResponse without protobuf's copies: the elements go from the tensor's memory to the
 * socket's buffers and back, once each way.
 *
 * <p>Written always in the order dtype, shape, content, with content in full: TensorFlow's receiver
 * takes a missing content for uninitialised memory and dies of a content that comes too early.
 */
final class ReceivedTensorMarshaller implements MethodDescriptor.Marshaller<ReceivedTensor> {
  private static final int TENSOR = 1;
  private static final int IS_DEAD = 2;
  private static final int DTYPE = 1;
  private static final int SHAPE = 2;
  private static final int CONTENT = 4;
  private static final int CHUNK = 256 << 10;

  // ---- writing ----

  @Override
  public InputStream stream(ReceivedTensor r) {
    try {
      if (r.dead()) {
        return new TensorStream(deadHeader(), null);
      }
      Tensor t = r.value();
      if (!t.dtype().isPlain()) {
        TensorProto p = TensorCodec.encode(t);
        t.release();
        return new TensorStream(wrapped(p), null);
      }
      return new TensorStream(header(t), t);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static byte[] deadHeader() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    out.writeMessage(
        TENSOR,
        TensorProto.newBuilder()
            .setDtypeValue(DType.FLOAT.number())
            .setTensorShape(TensorCodec.encode(Shape.of(0)))
            .build());
    out.writeBool(IS_DEAD, true);
    out.flush();
    return bytes.toByteArray();
  }

  private static byte[] wrapped(TensorProto p) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    out.writeMessage(TENSOR, p);
    out.flush();
    return bytes.toByteArray();
  }

  /** Everything up to the first byte of the elements. */
  private static byte[] header(Tensor t) throws IOException {
    long content = t.byteSize();
    if (content > Integer.MAX_VALUE - 1024) {
      throw MillraceException.invalid(
          "A tensor of %d bytes does not fit a message of TensorFlow's protocol (2 GiB).", content);
    }
    TensorShapeProto shape = TensorCodec.encode(t.shape());
    int inner =
        CodedOutputStream.computeEnumSize(DTYPE, t.dtype().number())
            + CodedOutputStream.computeMessageSize(SHAPE, shape)
            + CodedOutputStream.computeTagSize(CONTENT)
            + CodedOutputStream.computeUInt32SizeNoTag((int) content);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(inner + 16);
    CodedOutputStream out = CodedOutputStream.newInstance(bytes);
    out.writeTag(TENSOR, WireFormat.WIRETYPE_LENGTH_DELIMITED);
    out.writeUInt32NoTag(inner + (int) content);
    out.writeEnum(DTYPE, t.dtype().number());
    out.writeMessage(SHAPE, shape);
    out.writeTag(CONTENT, WireFormat.WIRETYPE_LENGTH_DELIMITED);
    out.writeUInt32NoTag((int) content);
    out.flush();
    return bytes.toByteArray();
  }

  /** Header bytes followed by a tensor's memory; the tensor is released when this is closed. */
  private static final class TensorStream extends InputStream implements Drainable, KnownLength {
    private final byte[] header;
    private final Tensor tensor;
    private final long total;
    private long position;
    private boolean closed;

    TensorStream(byte[] header, Tensor tensor) {
      this.header = header;
      this.tensor = tensor;
      this.total = header.length + (tensor == null ? 0 : tensor.byteSize());
    }

    @Override
    public int available() {
      return (int) (total - position);
    }

    @Override
    public int read() {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public int read(byte[] to, int offset, int length) {
      if (position == total) {
        return -1;
      }
      int n;
      if (position < header.length) {
        n = (int) Math.min(length, header.length - position);
        System.arraycopy(header, (int) position, to, offset, n);
      } else {
        n = (int) Math.min(length, total - position);
        MemorySegment.copy(
            tensor.data(), ValueLayout.JAVA_BYTE, position - header.length, to, offset, n);
      }
      position += n;
      return n;
    }

    @Override
    public int drainTo(OutputStream target) throws IOException {
      int written = 0;
      byte[] chunk = new byte[(int) Math.min(CHUNK, Math.max(1, total - position))];
      for (int n = read(chunk, 0, chunk.length); n >= 0; n = read(chunk, 0, chunk.length)) {
        target.write(chunk, 0, n);
        written += n;
      }
      return written;
    }

    @Override
    public void close() {
      if (!closed && tensor != null) {
        tensor.release();
      }
      closed = true;
    }
  }

  // ---- reading ----

  @Override
  public ReceivedTensor parse(InputStream in) {
    try {
      return new Parser(in).parse();
    } catch (IOException | MillraceException e) {
      throw Status.INTERNAL
          .withDescription("could not parse rpc response: " + e.getMessage())
          .withCause(e)
          .asRuntimeException();
    }
  }

  /** Reads fields one by one; the elements go straight into the tensor where order allows. */
  private static final class Parser {
    private final InputStream in;
    private long read;

    Parser(InputStream in) {
      this.in = in;
    }

    ReceivedTensor parse() throws IOException {
      Tensor tensor = null;
      boolean dead = false;
      try {
        while (true) {
          int tag = readTag();
          if (tag == 0) {
            break;
          }
          int field = WireFormat.getTagFieldNumber(tag);
          if (field == TENSOR) {
            tensor = tensor();
          } else if (field == IS_DEAD) {
            dead = readVarint() != 0;
          } else {
            skipField(tag);
          }
        }
        Tensor t = tensor;
        tensor = null;
        if (dead) {
          if (t != null) {
            t.release();
          }
          return new ReceivedTensor(null, true);
        }
        return new ReceivedTensor(
            t != null ? t : Tensor.allocateCounted(DType.FLOAT, Shape.of(0)), false);
      } finally {
        if (tensor != null) {
          tensor.release();
        }
      }
    }

    private Tensor tensor() throws IOException {
      long end = length() + read;
      DType dtype = null;
      Shape shape = Shape.scalar();
      Tensor direct = null;
      ByteArrayOutputStream rest = new ByteArrayOutputStream();
      CodedOutputStream other = CodedOutputStream.newInstance(rest);
      boolean ok = false;
      try {
        while (read < end) {
          int tag = (int) readVarint();
          int field = WireFormat.getTagFieldNumber(tag);
          if (field == DTYPE) {
            int number = (int) readVarint();
            dtype = DType.of(number);
            other.writeEnum(DTYPE, number);
          } else if (field == SHAPE) {
            byte[] b = bytes(length());
            shape = TensorCodec.decode(TensorShapeProto.parseFrom(b));
            other.writeByteArray(SHAPE, b);
          } else if (field == CONTENT && dtype != null && dtype.isPlain() && direct == null) {
            long n = length();
            if (!shape.isKnown() || shape.elements() * dtype.bytes() != n) {
              throw new IOException(
                  "content of " + n + " bytes for a " + dtype + " tensor of shape " + shape);
            }
            direct = Tensor.allocateCounted(dtype, shape);
            readInto(direct.data());
          } else {
            copyField(tag, other);
          }
        }
        if (read != end) {
          throw new IOException("a tensor message ends inside a field");
        }
        ok = true;
      } finally {
        if (!ok && direct != null) {
          direct.release();
        }
      }
      if (direct != null) {
        return direct;
      }
      other.flush();
      return TensorCodec.decodeCounted(TensorProto.parseFrom(rest.toByteArray()));
    }

    private void readInto(MemorySegment to) throws IOException {
      long n = to.byteSize();
      long at = 0;
      boolean buffers = in instanceof HasByteBuffer h && h.byteBufferSupported();
      byte[] chunk = null;
      while (at < n) {
        if (buffers) {
          ByteBuffer b = ((HasByteBuffer) in).getByteBuffer();
          if (b == null) {
            throw new EOFException("the message ends inside a tensor");
          }
          int take = (int) Math.min(b.remaining(), n - at);
          MemorySegment.copy(MemorySegment.ofBuffer(b), 0, to, at, take);
          in.skipNBytes(take);
          at += take;
        } else {
          chunk = chunk == null ? new byte[(int) Math.min(CHUNK, n)] : chunk;
          int got = in.read(chunk, 0, (int) Math.min(chunk.length, n - at));
          if (got < 0) {
            throw new EOFException("the message ends inside a tensor");
          }
          MemorySegment.copy(chunk, 0, to, ValueLayout.JAVA_BYTE, at, got);
          at += got;
        }
      }
      read += n;
    }

    private byte[] bytes(long n) throws IOException {
      byte[] b = in.readNBytes((int) n);
      if (b.length != n) {
        throw new EOFException("the message ends inside a field of " + n + " bytes");
      }
      read += n;
      return b;
    }

    /** A length that must fit what is left of the message. */
    private long length() throws IOException {
      long n = readVarint();
      if (n < 0 || n > Integer.MAX_VALUE || n > in.available()) {
        throw new IOException("a field claims " + n + " bytes");
      }
      return n;
    }

    private int readTag() throws IOException {
      int first = in.read();
      if (first < 0) {
        return 0;
      }
      read++;
      if ((first & 0x80) == 0) {
        return first;
      }
      return (int) ((first & 0x7F) | (readVarint() << 7));
    }

    private long readVarint() throws IOException {
      long v = 0;
      for (int shift = 0; shift < 64; shift += 7) {
        int b = in.read();
        if (b < 0) {
          throw new EOFException("the message ends inside a number");
        }
        read++;
        v |= (long) (b & 0x7F) << shift;
        if ((b & 0x80) == 0) {
          return v;
        }
      }
      throw new IOException("a number of more than 64 bits");
    }

    private void skipField(int tag) throws IOException {
      copyField(tag, CodedOutputStream.newInstance(OutputStream.nullOutputStream()));
    }

    private void copyField(int tag, CodedOutputStream to) throws IOException {
      to.writeUInt32NoTag(tag);
      switch (WireFormat.getTagWireType(tag)) {
        case WireFormat.WIRETYPE_VARINT -> to.writeUInt64NoTag(readVarint());
        case WireFormat.WIRETYPE_FIXED64 -> to.writeRawBytes(bytes(8));
        case WireFormat.WIRETYPE_FIXED32 -> to.writeRawBytes(bytes(4));
        case WireFormat.WIRETYPE_LENGTH_DELIMITED -> {
          byte[] b = bytes(length());
          to.writeUInt32NoTag(b.length);
          to.writeRawBytes(b);
        }
        default -> throw new IOException("field with tag " + tag);
      }
    }
  }
}
