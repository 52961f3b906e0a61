package dev.millrace.storage.checkpoint;

import dev.millrace.base.MillraceException;
import dev.millrace.storage.AtomicFile;
import dev.millrace.storage.Checksum;
import dev.millrace.storage.VarintBuffer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.function.Function;
import java.util.zip.CRC32C;

/**
 * Encodes the strings of a tensor for a bundle: all lengths as varints, a checksum of the lengths,
 * then the bytes of all strings. The checksum covers each length as a four-byte number, not as a
 * varint. The tensor's own checksum continues from there over the remaining bytes.
 */
final class StringEncoding {
  private static final int BUFFER_BYTES = 64 << 10;

  private StringEncoding() {}

  /** Appends byte arrays to {@code file}; {@code crc} becomes the tensor's checksum. */
  static void write(AtomicFile file, Object[] strings, CRC32C crc) {
    VarintBuffer lengths = new VarintBuffer(BUFFER_BYTES);
    for (Object s : strings) {
      int length = ((byte[]) s).length;
      lengths.putVarint(length);
      Checksum.updateInt(crc, length);
      if (lengths.size() > BUFFER_BYTES - 16) {
        file.write(ByteBuffer.wrap(lengths.toBytes()));
        lengths.clear();
      }
    }
    int checksum = Checksum.masked(crc);
    Checksum.updateInt(crc, checksum);
    lengths.putInt(checksum);
    file.write(ByteBuffer.wrap(lengths.toBytes()));
    for (Object s : strings) {
      crc.update((byte[]) s);
      file.write(ByteBuffer.wrap((byte[]) s));
    }
  }

  /**
   * Reads {@code count} strings from {@code size} bytes at {@code offset}; {@code crc} becomes the
   * tensor's checksum, which the caller compares. {@code damage} creates the error for invalid
   * bytes. Allocates memory for the bytes in the file, not for the claimed lengths.
   */
  static Object[] read(
      FileChannel channel,
      long offset,
      long size,
      int count,
      CRC32C crc,
      Function<String, MillraceException> damage)
      throws IOException {
    // Every string takes at least one byte, its length.
    if (count > size - 4) {
      throw damage.apply("is too short for its " + count + " strings");
    }
    Input in = new Input(channel, offset, size, damage);
    int[] lengths = new int[count];
    long total = 0;
    for (int i = 0; i < count; i++) {
      lengths[i] = in.varint();
      total += lengths[i];
      Checksum.updateInt(crc, lengths[i]);
    }
    int expected = Checksum.masked(crc);
    int checksum = in.littleInt();
    if (checksum != expected) {
      throw damage.apply("does not match the checksum of its lengths");
    }
    Checksum.updateInt(crc, checksum);
    if (total != in.remaining()) {
      throw damage.apply(
          "has " + in.remaining() + " bytes for strings of " + total + " bytes together");
    }
    Object[] strings = new Object[count];
    for (int i = 0; i < count; i++) {
      byte[] s = in.bytes(lengths[i]);
      crc.update(s);
      strings[i] = s;
    }
    return strings;
  }

  /** Reads a part of a file sequentially. */
  private static final class Input {
    private final FileChannel channel;
    private final long end;
    private final Function<String, MillraceException> damage;
    private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES).limit(0);
    private long position;

    Input(FileChannel channel, long offset, long size, Function<String, MillraceException> damage) {
      this.channel = channel;
      this.position = offset;
      this.end = offset + size;
      this.damage = damage;
    }

    /** Bytes not taken yet. */
    long remaining() {
      return end - position + buffer.remaining();
    }

    private void fill() throws IOException {
      buffer.clear();
      buffer.limit((int) Math.min(buffer.capacity(), end - position));
      int got = channel.read(buffer, position);
      buffer.flip();
      if (got <= 0) {
        throw damage.apply("is cut short");
      }
      position += got;
    }

    int next() throws IOException {
      if (!buffer.hasRemaining()) {
        fill();
      }
      return buffer.get() & 0xFF;
    }

    /** A length: a non-negative int. */
    int varint() throws IOException {
      long v = 0;
      for (int shift = 0; shift < 35; shift += 7) {
        int b = next();
        v |= (long) (b & 0x7F) << shift;
        if (b < 0x80) {
          if (v > Integer.MAX_VALUE - 8) {
            break;
          }
          return (int) v;
        }
      }
      throw damage.apply("has a string of 2 GiB or more");
    }

    int littleInt() throws IOException {
      int v = 0;
      for (int i = 0; i < 4; i++) {
        v |= next() << (8 * i);
      }
      return v;
    }

    byte[] bytes(int n) throws IOException {
      byte[] out = new byte[n];
      for (int at = 0; at < n; ) {
        if (!buffer.hasRemaining()) {
          fill();
        }
        int k = Math.min(buffer.remaining(), n - at);
        buffer.get(out, at, k);
        at += k;
      }
      return out;
    }
  }
}
