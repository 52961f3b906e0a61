package dev.millrace.train.data.arrow;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * A table of a FlatBuffers message. Its fields have numbers; one that is not there has its default.
 * What lies outside of the message fails with IndexOutOfBoundsException.
 */
record FlatTable(ByteBuffer in, int at) {
  /** The root of a message. */
  static FlatTable root(ByteBuffer message) {
    ByteBuffer in = message.slice().order(ByteOrder.LITTLE_ENDIAN);
    return new FlatTable(in, in.getInt(0));
  }

  /** Where a field is; 0 if it is not there. */
  private int place(int field) {
    int vtable = at - in.getInt(at);
    int entry = 4 + 2 * field;
    int offset = entry < in.getShort(vtable) ? in.getShort(vtable + entry) & 0xFFFF : 0;
    return offset == 0 ? 0 : at + offset;
  }

  boolean has(int field) {
    return place(field) != 0;
  }

  int number(int field, int usual) {
    int p = place(field);
    return p == 0 ? usual : in.getInt(p);
  }

  int shortNumber(int field) {
    int p = place(field);
    return p == 0 ? 0 : in.getShort(p);
  }

  int byteNumber(int field) {
    int p = place(field);
    return p == 0 ? 0 : in.get(p);
  }

  long longNumber(int field) {
    int p = place(field);
    return p == 0 ? 0 : in.getLong(p);
  }

  /** The table that a field refers to; null if it is not there. */
  FlatTable table(int field) {
    int p = place(field);
    return p == 0 ? null : new FlatTable(in, p + in.getInt(p));
  }

  String text(int field) {
    int p = place(field);
    if (p == 0) {
      return "";
    }
    int start = p + in.getInt(p);
    byte[] bytes = new byte[checked(in.getInt(start))];
    in.get(start + 4, bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private int checked(int length) {
    if (length < 0 || length > in.limit()) {
      throw new IndexOutOfBoundsException("a length of " + length);
    }
    return length;
  }

  /** The number of elements of a vector. */
  int count(int field) {
    int p = place(field);
    return p == 0 ? 0 : checked(in.getInt(p + in.getInt(p)));
  }

  /** Where element {@code i} of a vector of structures of {@code bytes} bytes is. */
  private int element(int field, int i, int bytes) {
    int p = place(field);
    return p + in.getInt(p) + 4 + i * bytes;
  }

  /** Table {@code i} of a vector of tables. */
  FlatTable tableOf(int field, int i) {
    int p = element(field, i, 4);
    return new FlatTable(in, p + in.getInt(p));
  }

  /** A long of structure {@code i} of a vector, {@code offset} bytes from its beginning. */
  long longOf(int field, int i, int bytes, int offset) {
    return in.getLong(element(field, i, bytes) + offset);
  }

  /** The same for an int. */
  int intOf(int field, int i, int bytes, int offset) {
    return in.getInt(element(field, i, bytes) + offset);
  }
}
