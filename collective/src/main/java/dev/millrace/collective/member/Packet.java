package dev.millrace.collective.member;

import dev.millrace.base.MillraceException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The contents of a control message: numbers, strings and bytes one after the other. They are taken
 * in the order in which they were put; a packet that ends early is an error of its own.
 */
public final class Packet {
  private ByteBuffer buffer;

  private Packet(ByteBuffer buffer) {
    this.buffer = buffer;
  }

  /** An empty packet to be written. */
  public static Packet empty() {
    return new Packet(ByteBuffer.allocate(64));
  }

  /** A packet to be read. */
  public static Packet of(byte[] bytes) {
    return new Packet(ByteBuffer.wrap(bytes));
  }

  private ByteBuffer room(int bytes) {
    if (buffer.remaining() < bytes) {
      int capacity = Math.max(buffer.capacity() * 2, buffer.position() + bytes);
      ByteBuffer larger = ByteBuffer.allocate(capacity);
      larger.put(buffer.flip());
      buffer = larger;
    }
    return buffer;
  }

  /** Appends the low eight bits. */
  public Packet putByte(int v) {
    room(1).put((byte) v);
    return this;
  }

  /** Appends the number of a constant, which may be null. */
  public Packet putConstant(Enum<?> v) {
    return putByte(v == null ? -1 : v.ordinal());
  }

  /** Appends four bytes. */
  public Packet putInt(int v) {
    room(4).putInt(v);
    return this;
  }

  /** Appends eight bytes. */
  public Packet putLong(long v) {
    room(8).putLong(v);
    return this;
  }

  /** Appends a count and so many bytes. */
  public Packet putBytes(byte[] v) {
    room(4 + v.length).putInt(v.length).put(v);
    return this;
  }

  /** Appends a count and the bytes of a text in UTF-8. */
  public Packet putString(String v) {
    return putBytes(v.getBytes(StandardCharsets.UTF_8));
  }

  /** Appends a count and so many ints. */
  public Packet putInts(int[] v) {
    putInt(v.length);
    for (int i : v) {
      putInt(i);
    }
    return this;
  }

  /** Appends a count and so many longs. */
  public Packet putLongs(long[] v) {
    putInt(v.length);
    for (long i : v) {
      putLong(i);
    }
    return this;
  }

  /** Takes what {@link #putByte} has put, with its sign. */
  public int getByte() {
    return read(() -> (int) buffer.get());
  }

  /** Takes what {@link #putConstant} has put: one of {@code all} constants of a type, or null. */
  public <E extends Enum<E>> E getConstantOrNull(E[] all) {
    int number = getByte();
    if (number < -1 || number >= all.length) {
      throw damaged();
    }
    return number == -1 ? null : all[number];
  }

  /** Takes what {@link #putConstant} has put, where null is not permitted. */
  public <E extends Enum<E>> E getConstant(E[] all) {
    E constant = getConstantOrNull(all);
    if (constant == null) {
      throw damaged();
    }
    return constant;
  }

  /** Takes what {@link #putInt} has put. */
  public int getInt() {
    return read(() -> buffer.getInt());
  }

  /** Takes what {@link #putLong} has put. */
  public long getLong() {
    return read(() -> buffer.getLong());
  }

  /** Takes what {@link #putBytes} has put. */
  public byte[] getBytes() {
    byte[] v = new byte[count(1)];
    buffer.get(v);
    return v;
  }

  /** Takes what {@link #putString} has put. */
  public String getString() {
    return new String(getBytes(), StandardCharsets.UTF_8);
  }

  /** Takes what {@link #putInts} has put. */
  public int[] getInts() {
    int[] v = new int[count(4)];
    Arrays.setAll(v, i -> buffer.getInt());
    return v;
  }

  /** Takes what {@link #putLongs} has put. */
  public long[] getLongs() {
    long[] v = new long[count(8)];
    Arrays.setAll(v, i -> buffer.getLong());
    return v;
  }

  /** A count of things of this size, which must all be there. */
  private int count(int size) {
    int n = getInt();
    if (n < 0 || (long) n * size > buffer.remaining()) {
      throw damaged();
    }
    return n;
  }

  private <T> T read(java.util.function.Supplier<T> one) {
    try {
      return one.get();
    } catch (BufferUnderflowException e) {
      throw damaged();
    }
  }

  private static MillraceException damaged() {
    return MillraceException.internal(
        "A control message is damaged. All ranks must run the same version of Millrace.");
  }

  /** What was written. */
  public byte[] toBytes() {
    byte[] written = new byte[buffer.position()];
    buffer.get(0, written);
    return written;
  }
}
