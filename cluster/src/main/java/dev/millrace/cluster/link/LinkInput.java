package dev.millrace.cluster.link;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.proto.TensorProto;
import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.TensorCodec;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ReadableByteChannel;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.atomic.LongAdder;

/**
 * Reads what {@link LinkOutput} writes. Large tensors go from the socket to their own memory.
 *
 * <p>Threading: one thread at a time, the link's reader; {@link #lastHeardNanos} and {@link
 * #receivedBytes} any.
 */
final class LinkInput {
  private static final int BUFFER_BYTES = 128 << 10;
  private static final int MAX_BYTES = 1 << 30;
  private static final int MAX_RANK = 254;
  private static final long SLICE_BYTES = 1 << 20;

  private final ReadableByteChannel channel;
  private final ByteBuffer buffer =
      ByteBuffer.allocateDirect(BUFFER_BYTES).order(ByteOrder.LITTLE_ENDIAN).flip();
  private final Timers timers;
  private final long openedNanos;
  private volatile long lastHeardNanos;
  private final LongAdder received = new LongAdder();
  private SharedFiles shared;

  LinkInput(ReadableByteChannel channel, Timers timers) {
    this.timers = timers;
    this.openedNanos = timers.now();
    this.lastHeardNanos = openedNanos;
    this.channel = channel;
  }

  /** From now on large tensors may come through shared memory. */
  void share(SharedFiles files) {
    shared = files;
  }

  /** When reading began, by {@link Timers#now}. */
  long openedNanos() {
    return openedNanos;
  }

  /** How many bytes have come, those in shared memory included. */
  long receivedBytes() {
    return received.sum();
  }

  /** When bytes last arrived, by {@link Timers#now}. */
  long lastHeardNanos() {
    return lastHeardNanos;
  }

  /** Counts as having heard the peer just now: silence on our own account is not the peer's. */
  void excuse() {
    lastHeardNanos = timers.now();
  }

  private void read(ByteBuffer into) throws IOException {
    int n = channel.read(into);
    if (n < 0) {
      throw new EOFException("the connection was closed");
    }
    received.add(n);
    lastHeardNanos = timers.now();
  }

  private ByteBuffer need(int bytes) throws IOException {
    if (buffer.remaining() < bytes) {
      buffer.compact();
      while (buffer.position() < bytes) {
        read(buffer);
      }
      buffer.flip();
    }
    return buffer;
  }

  int getByte() throws IOException {
    return need(1).get() & 0xFF;
  }

  int getInt() throws IOException {
    return need(4).getInt();
  }

  long getLong() throws IOException {
    return need(8).getLong();
  }

  /** A count of things that each take at least a byte. */
  int getCount() throws IOException {
    int n = getInt();
    if (n < 0 || n > MAX_BYTES) {
      throw new IOException("a count of " + n);
    }
    return n;
  }

  String getString() throws IOException {
    return new String(getBytes(), StandardCharsets.UTF_8);
  }

  byte[] getBytes() throws IOException {
    return getBytes(Integer.MAX_VALUE);
  }

  /** The same, or null if there are more than {@code most}, which are skipped then. */
  byte[] getBytes(int most) throws IOException {
    int count = getCount();
    if (count > most) {
      for (int left = count; left > 0; ) {
        int n = Math.min(left, need(1).remaining());
        buffer.position(buffer.position() + n);
        left -= n;
      }
      return null;
    }
    // Grows as bytes arrive: the count that a peer announces must not allocate memory.
    byte[] bytes = new byte[Math.min(count, BUFFER_BYTES)];
    for (int at = 0; at < count; ) {
      if (at == bytes.length) {
        bytes = Arrays.copyOf(bytes, (int) Math.min(count, 2L * bytes.length));
      }
      int n = Math.min(bytes.length - at, need(1).remaining());
      buffer.get(bytes, at, n);
      at += n;
    }
    return bytes;
  }

  /** A tensor with a counted reference of the caller's, or null for a dead value. */
  Tensor getTensor() throws IOException {
    int form = getByte();
    return switch (form) {
      case LinkOutput.DEAD -> null;
      case LinkOutput.MESSAGE -> message(getBytes());
      case LinkOutput.INLINE -> inline(getDType(), getShape());
      case LinkOutput.SHARED -> shared(getDType(), getShape());
      default -> throw new IOException("a tensor of the unknown form " + form);
    };
  }

  private DType getDType() throws IOException {
    DType t = DType.of(getByte());
    if (!t.isPlain()) {
      throw new IOException("a " + t + " tensor as plain bytes");
    }
    return t;
  }

  private Shape getShape() throws IOException {
    int rank = getByte();
    if (rank > MAX_RANK) {
      throw new IOException("a tensor of rank " + rank);
    }
    long[] dims = new long[rank];
    for (int i = 0; i < dims.length; i++) {
      dims[i] = getLong();
      if (dims[i] < 0) {
        throw new IOException("a dimension of " + dims[i]);
      }
    }
    return Shape.of(dims);
  }

  private static Tensor message(byte[] bytes) throws IOException {
    try {
      return TensorCodec.decodeCounted(TensorProto.parseFrom(bytes));
    } catch (InvalidProtocolBufferException | MillraceException e) {
      throw new IOException("a tensor that cannot be read: " + e.getMessage(), e);
    }
  }

  private Tensor inline(DType dtype, Shape shape) throws IOException {
    Tensor t = Refs.allocate(dtype, shape);
    boolean complete = false;
    try {
      readInto(t.data());
      complete = true;
    } finally {
      if (!complete) {
        Refs.release(t);
      }
    }
    return t;
  }

  private void readInto(MemorySegment to) throws IOException {
    long bytes = to.byteSize();
    int buffered = (int) Math.min(buffer.remaining(), bytes);
    MemorySegment.copy(MemorySegment.ofBuffer(buffer), 0, to, 0, buffered);
    buffer.position(buffer.position() + buffered);
    for (long at = buffered; at < bytes; ) {
      ByteBuffer slice = to.asSlice(at, Math.min(SLICE_BYTES, bytes - at)).asByteBuffer();
      while (slice.hasRemaining()) {
        read(slice);
      }
      at += slice.capacity();
    }
  }

  private Tensor shared(DType dtype, Shape shape) throws IOException {
    int id = getInt();
    long capacity = getLong();
    if (shared == null) {
      throw new IOException("a shared tensor on a link without shared memory");
    }
    Buffer memory = shared.receive(id, capacity);
    received.add(shape.elements() * dtype.bytes());
    try {
      return Refs.ofBuffer(dtype, shape, memory);
    } catch (IllegalArgumentException | MillraceException e) {
      memory.release();
      throw new IOException(e.getMessage(), e);
    }
  }
}
