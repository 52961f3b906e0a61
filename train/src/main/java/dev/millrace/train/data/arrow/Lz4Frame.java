package dev.millrace.train.data.arrow;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Decompresses an LZ4 frame of a known size. Its blocks may refer to what the earlier ones gave.
 * Checksums are not compared.
 */
final class Lz4Frame {
  private static final int MAGIC = 0x184D2204;
  private static final int LEAST_MATCH = 4;

  private final byte[] in;
  private final byte[] out;
  private int size;

  private Lz4Frame(byte[] in, byte[] out) {
    this.in = in;
    this.out = out;
  }

  /** Decompresses the frame that begins at {@code from} to {@code n} bytes. */
  static byte[] decompress(byte[] in, int from, int n) throws IOException {
    try {
      Lz4Frame frame = new Lz4Frame(in, new byte[n]);
      frame.read(from);
      if (frame.size == n) {
        return frame.out;
      }
    } catch (IndexOutOfBoundsException e) {
      throw new IOException("an LZ4 frame is damaged", e);
    }
    throw new IOException("an LZ4 frame has not the size it should have");
  }

  private void read(int from) throws IOException {
    ByteBuffer b = ByteBuffer.wrap(in).order(ByteOrder.LITTLE_ENDIAN);
    if (b.getInt(from) != MAGIC) {
      throw new IOException("an LZ4 frame does not begin as one does");
    }
    int flags = b.get(from + 4);
    int at = from + 6 + ((flags & 8) != 0 ? 8 : 0) + ((flags & 1) != 0 ? 4 : 0) + 1;
    while (true) {
      int length = b.getInt(at);
      at += 4;
      if (length == 0) {
        return;
      }
      int bytes = length & 0x7FFFFFFF;
      if (bytes > in.length - at) {
        throw new IndexOutOfBoundsException(bytes);
      }
      if (length < 0) {
        System.arraycopy(in, at, out, size, bytes);
        size += bytes;
      } else {
        block(at, at + bytes);
      }
      at += bytes + ((flags & 16) != 0 ? 4 : 0);
    }
  }

  private void block(int from, int to) {
    int at = from;
    while (at < to) {
      int token = in[at++] & 0xFF;
      int literals = token >>> 4;
      if (literals == 15) {
        int more;
        do {
          more = in[at++] & 0xFF;
          literals = Math.addExact(literals, more);
        } while (more == 255);
      }
      System.arraycopy(in, at, out, size, literals);
      at += literals;
      size += literals;
      if (at >= to) {
        return; // the last sequence has no match
      }
      int distance = (in[at] & 0xFF) | (in[at + 1] & 0xFF) << 8;
      at += 2;
      int length = token & 15;
      if (length == 15) {
        int more;
        do {
          more = in[at++] & 0xFF;
          length = Math.addExact(length, more);
        } while (more == 255);
      }
      length += LEAST_MATCH;
      if (distance == 0 || distance > size || length > out.length - size) {
        throw new IndexOutOfBoundsException(distance);
      }
      for (int i = 0; i < length; i++, size++) {
        out[size] = out[size - distance];
      }
    }
  }
}
