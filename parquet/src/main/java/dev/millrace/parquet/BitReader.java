package dev.millrace.parquet;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * A range of bytes in which numbers are packed: varints, and groups of values of equal width in
 * bits, lowest bits first. Reading behind the end fails with IndexOutOfBoundsException.
 *
 * <p>Threading: one thread at a time.
 */
final class BitReader {
  /** What a read of a long may need behind the last byte. */
  static final int PADDING = 8;

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  final byte[] bytes;
  final int end;

  /** The next byte. */
  int at;

  /** The bytes from {@code from} to {@code to}, behind which are {@link #PADDING} others. */
  BitReader(byte[] bytes, int from, int to) {
    if (from < 0 || from > to || to > bytes.length - PADDING) {
      throw new IndexOutOfBoundsException(from + " to " + to + " of " + bytes.length);
    }
    this.bytes = bytes;
    this.at = from;
    this.end = to;
  }

  int left() {
    return end - at;
  }

  int next() {
    if (at >= end) {
      throw new IndexOutOfBoundsException(at);
    }
    return bytes[at++] & 0xFF;
  }

  long varint() {
    long value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      int b = next();
      value |= (long) (b & 0x7F) << shift;
      if (b < 0x80) {
        return value;
      }
    }
    throw new IndexOutOfBoundsException(at);
  }

  /** A varint that is a size or a count. */
  int count() {
    long n = varint();
    if (n < 0 || n > Integer.MAX_VALUE) {
      throw new IndexOutOfBoundsException(Long.toString(n));
    }
    return (int) n;
  }

  long zigzag() {
    long n = varint();
    return (n >>> 1) ^ -(n & 1);
  }

  /** Passes over {@code n} bytes and returns where they begin. */
  int take(long n) {
    if (n < 0 || n > left()) {
      throw new IndexOutOfBoundsException(at + " + " + n + " of " + end);
    }
    int from = at;
    at += (int) n;
    return from;
  }

  /** Reads {@code n} values of {@code width} bits, up to 32, packed from byte {@code from} on. */
  void unpack(int from, int width, int[] to, int at0, int n) {
    if (width == 0) {
      Arrays.fill(to, at0, at0 + n, 0);
      return;
    }
    long mask = (1L << width) - 1;
    long bit = 8L * from;
    for (int i = 0; i < n; i++, bit += width) {
      to[at0 + i] = (int) ((long) LONG.get(bytes, (int) (bit >>> 3)) >>> (bit & 7) & mask);
    }
  }

  /** Value {@code i} of those of {@code width} bits, up to 64, packed from byte {@code from} on. */
  long packed(int from, int width, int i) {
    if (width == 0) {
      return 0;
    }
    long bit = 8L * from + (long) i * width;
    int shift = (int) (bit & 7);
    int at0 = (int) (bit >>> 3);
    long value = (long) LONG.get(bytes, at0) >>> shift;
    if (shift + width > 64) {
      value |= (long) bytes[at0 + 8] << (64 - shift);
    }
    return width == 64 ? value : value & ((1L << width) - 1);
  }
}
