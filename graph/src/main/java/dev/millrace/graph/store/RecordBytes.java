package dev.millrace.graph.store;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The bytes of one record of the journal as they are put together: a buffer that grows.
 *
 * <p>Threading: one thread at a time.
 */
final class RecordBytes {
  private static final int FIRST = 4096;

  private ByteBuffer bytes = ByteBuffer.allocate(FIRST);

  void clear() {
    bytes.clear();
  }

  int length() {
    return bytes.position();
  }

  ByteBuffer finished() {
    return bytes.duplicate().flip();
  }

  private ByteBuffer room(long n) {
    long needed = bytes.position() + n;
    if (needed > bytes.capacity()) {
      int size = (int) Math.min(Integer.MAX_VALUE - 8, Math.max(needed, 2L * bytes.capacity()));
      bytes = ByteBuffer.wrap(Arrays.copyOf(bytes.array(), size)).position(bytes.position());
    }
    return bytes;
  }

  RecordBytes put(int v) {
    room(Integer.BYTES).putInt(v);
    return this;
  }

  RecordBytes put(long v) {
    room(Long.BYTES).putLong(v);
    return this;
  }

  RecordBytes put(byte v) {
    room(1).put(v);
    return this;
  }

  RecordBytes put(byte[] v) {
    room(v.length).put(v);
    return this;
  }

  RecordBytes put(String v) {
    byte[] b = v.getBytes(StandardCharsets.UTF_8);
    return put(b.length).put(b);
  }

  RecordBytes put(MemorySegment v) {
    ByteBuffer b = room(v.byteSize());
    MemorySegment.copy(v, 0, MemorySegment.ofBuffer(b), 0, v.byteSize());
    b.position(b.position() + (int) v.byteSize());
    return this;
  }

  static String string(ByteBuffer from) {
    return new String(bytes(from, from.getInt()), StandardCharsets.UTF_8);
  }

  static byte[] bytes(ByteBuffer from, int n) {
    byte[] b = new byte[n];
    from.get(b);
    return b;
  }
}
