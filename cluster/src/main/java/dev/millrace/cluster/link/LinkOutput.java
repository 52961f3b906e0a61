package dev.millrace.cluster.link;

import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.TensorCodec;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.LongAdder;

/**
 * Writes frames to a connection. What is written stays in a buffer until it is full or flushed;
 * large tensors go from their own memory to the socket.
 *
 * <p>Threading: one thread at a time, the one that holds the link's writing lock; {@link
 * #sentBytes} any.
 */
final class LinkOutput {
  static final int DEAD = 0;
  static final int INLINE = 1;
  static final int SHARED = 2;
  static final int MESSAGE = 3;

  private static final int BUFFER_BYTES = 128 << 10;

  /** Tensors up to this size are copied into the buffer, so that several leave in one write. */
  private static final int COPIED_BYTES = 16 << 10;

  /** A write of more than this holds the lock of the connection for too long. */
  private static final long SLICE_BYTES = 1 << 20;

  private final WritableByteChannel channel;
  private final ByteBuffer buffer;
  private final LongAdder sent = new LongAdder();
  private SharedFiles shared;

  LinkOutput(WritableByteChannel channel) {
    this(channel, BUFFER_BYTES);
  }

  LinkOutput(WritableByteChannel channel, int bufferBytes) {
    this.channel = channel;
    buffer = ByteBuffer.allocateDirect(bufferBytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** From now on large tensors go through shared memory. */
  void share(SharedFiles files) {
    shared = files;
  }

  private ByteBuffer room(int bytes) throws IOException {
    if (buffer.remaining() < bytes) {
      flush();
    }
    return buffer;
  }

  void putByte(int v) throws IOException {
    room(1).put((byte) v);
  }

  void putInt(int v) throws IOException {
    room(4).putInt(v);
  }

  void putLong(long v) throws IOException {
    room(8).putLong(v);
  }

  void putString(String s) throws IOException {
    putBytes(s.getBytes(StandardCharsets.UTF_8));
  }

  void putBytes(byte[] bytes) throws IOException {
    putInt(bytes.length);
    for (int at = 0; at < bytes.length; ) {
      int n = Math.min(bytes.length - at, room(1).remaining());
      buffer.put(bytes, at, n);
      at += n;
    }
  }

  /** A tensor, or null for a dead value. The caller's reference stays the caller's. */
  void putTensor(Tensor t) throws IOException {
    if (t == null) {
      putByte(DEAD);
    } else if (!t.dtype().isPlain()) {
      putByte(MESSAGE);
      putBytes(TensorCodec.encode(t).toByteArray());
    } else if (shared != null && shared.isLarge(t.byteSize())) {
      putShared(t);
    } else {
      putInline(t);
    }
  }

  private void putShared(Tensor t) throws IOException {
    SharedFile file = shared.sent(t);
    if (file == null) {
      Tensor copy = shared.stage(t);
      if (copy == null) {
        putInline(t);
        return;
      }
      file = shared.sent(copy);
      Refs.release(copy);
    }
    sent.add(t.byteSize());
    putByte(SHARED);
    putHead(t);
    putInt(file.id);
    putLong(file.capacity());
  }

  private void putHead(Tensor t) throws IOException {
    putByte(t.dtype().number());
    long[] dims = t.shape().dims();
    putByte(dims.length);
    for (long d : dims) {
      putLong(d);
    }
  }

  private void putInline(Tensor t) throws IOException {
    putByte(INLINE);
    putHead(t);
    MemorySegment data = t.data();
    long bytes = data.byteSize();
    if (bytes <= COPIED_BYTES) {
      room((int) bytes).put(data.asByteBuffer());
      return;
    }
    flush();
    for (long at = 0; at < bytes; at += SLICE_BYTES) {
      write(data.asSlice(at, Math.min(SLICE_BYTES, bytes - at)).asByteBuffer());
    }
  }

  /** Puts everything written so far on its way. */
  void flush() throws IOException {
    buffer.flip();
    write(buffer);
    buffer.clear();
  }

  /** How many bytes have left, those in shared memory included. */
  long sentBytes() {
    return sent.sum();
  }

  private void write(ByteBuffer b) throws IOException {
    sent.add(b.remaining());
    while (b.hasRemaining()) {
      channel.write(b);
    }
  }
}
