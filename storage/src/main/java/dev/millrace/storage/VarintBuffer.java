package dev.millrace.storage;

import java.util.Arrays;

/** A growing byte array that takes varints. */
final class VarintBuffer {
  private byte[] bytes;
  private int size;

  VarintBuffer(int capacity) {
    bytes = new byte[capacity];
  }

  int size() {
    return size;
  }

  /** Appends {@code value}, seven bits per byte, lowest first; negative takes ten bytes. */
  void putVarint(long value) {
    reserve(10);
    long v = value;
    while ((v & ~0x7FL) != 0) {
      bytes[size++] = (byte) (v | 0x80);
      v >>>= 7;
    }
    bytes[size++] = (byte) v;
  }

  void putInt(int value) {
    reserve(4);
    for (int i = 0; i < 4; i++) {
      bytes[size++] = (byte) (value >>> (8 * i));
    }
  }

  void put(byte[] from, int offset, int length) {
    reserve(length);
    System.arraycopy(from, offset, bytes, size, length);
    size += length;
  }

  void clear() {
    size = 0;
  }

  /** A copy of what has been put, followed by {@code extra} zero bytes. */
  byte[] toBytes(int extra) {
    byte[] copy = new byte[size + extra];
    System.arraycopy(bytes, 0, copy, 0, size);
    return copy;
  }

  byte[] toBytes() {
    return toBytes(0);
  }

  private void reserve(int n) {
    if (bytes.length - size < n) {
      bytes = Arrays.copyOf(bytes, Math.max(Math.addExact(size, n), size + size / 2));
    }
  }
}
