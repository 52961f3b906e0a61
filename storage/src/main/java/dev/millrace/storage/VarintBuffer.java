package dev.millrace.storage;

import java.util.Arrays;

/**
 * A growing byte array with methods to append varints.
 *
 * <p>Threading: one thread at a time.
 */
public final class VarintBuffer {
  private byte[] bytes;
  private int size;

  public VarintBuffer(int capacity) {
    bytes = new byte[capacity];
  }

  public int size() {
    return size;
  }

  /**
   * Appends {@code value} with seven bits per byte, lowest first. A negative value takes ten bytes.
   */
  public void putVarint(long value) {
    reserve(10);
    long v = value;
    while ((v & ~0x7FL) != 0) {
      bytes[size++] = (byte) (v | 0x80);
      v >>>= 7;
    }
    bytes[size++] = (byte) v;
  }

  public void putInt(int value) {
    reserve(4);
    for (int i = 0; i < 4; i++) {
      bytes[size++] = (byte) (value >>> (8 * i));
    }
  }

  public void put(byte[] from, int offset, int length) {
    reserve(length);
    System.arraycopy(from, offset, bytes, size, length);
    size += length;
  }

  public void clear() {
    size = 0;
  }

  /** A copy of the contents followed by {@code extra} zero bytes. */
  public byte[] toBytes(int extra) {
    byte[] copy = new byte[size + extra];
    System.arraycopy(bytes, 0, copy, 0, size);
    return copy;
  }

  public byte[] toBytes() {
    return toBytes(0);
  }

  private void reserve(int n) {
    if (bytes.length - size < n) {
      bytes = Arrays.copyOf(bytes, Math.max(Math.addExact(size, n), size + size / 2));
    }
  }
}
