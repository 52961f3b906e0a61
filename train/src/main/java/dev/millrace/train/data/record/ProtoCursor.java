package dev.millrace.train.data.record;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;

/**
 * Walks over the fields of a protobuf message in place. A message in it is a range of the same
 * bytes.
 *
 * <p>Threading: one thread at a time.
 */
final class ProtoCursor {
  static final int VARINT = 0;
  static final int FIXED64 = 1;
  static final int BYTES = 2;
  static final int FIXED32 = 5;

  private final byte[] bytes;

  /** The next byte, and the end of the message. */
  int at;

  int end;

  /** The field that {@link #next} found. */
  int field;

  int wire;

  /** Where the value of a field of bytes ends; it begins at {@link #at}. */
  int valueEnd;

  ProtoCursor(byte[] bytes, int from, int to) {
    this.bytes = bytes;
    at = from;
    end = to;
  }

  /** Goes to the next field; false at the end of the message. */
  boolean next() {
    if (at >= end) {
      return false;
    }
    long tag = varint();
    field = (int) (tag >>> 3);
    wire = (int) tag & 7;
    if (wire == BYTES) {
      long length = varint();
      if (length < 0 || length > end - at) {
        throw damaged();
      }
      valueEnd = at + (int) length;
    }
    return true;
  }

  /** Whether the field is number {@code number}, of bytes. */
  boolean is(int number) {
    return field == number && wire == BYTES;
  }

  /** The message in the current field, which is passed over here. */
  ProtoCursor inside() {
    ProtoCursor in = new ProtoCursor(bytes, at, valueEnd);
    at = valueEnd;
    return in;
  }

  /** Passes over the current field. */
  void skip() {
    switch (wire) {
      case VARINT -> varint();
      case FIXED64 -> at += 8;
      case BYTES -> at = valueEnd;
      case FIXED32 -> at += 4;
      default -> throw damaged();
    }
    if (at > end) {
      throw damaged();
    }
  }

  long varint() {
    long value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at >= end) {
        throw damaged();
      }
      byte b = bytes[at++];
      value |= (long) (b & 0x7F) << shift;
      if (b >= 0) {
        return value;
      }
    }
    throw damaged();
  }

  static MillraceException damaged() {
    return new MillraceException(
        Code.DATA_LOSS, " is not a tf.Example. Were other messages written, or SequenceExamples?");
  }
}
