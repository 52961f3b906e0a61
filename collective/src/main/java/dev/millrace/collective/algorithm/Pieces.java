package dev.millrace.collective.algorithm;

import java.util.Arrays;

/** Ranges of one memory that a stream passes through in order, and how far it has come. */
final class Pieces {
  private long[] at = new long[8];
  private long[] bytes = new long[8];
  private int count;
  private int index;
  private long done;

  void clear() {
    count = 0;
    index = 0;
    done = 0;
  }

  void add(long from, long length) {
    if (count == at.length) {
      at = Arrays.copyOf(at, count * 2);
      bytes = Arrays.copyOf(bytes, count * 2);
    }
    at[count] = from;
    bytes[count++] = length;
    skipEmpty();
  }

  /** Where the stream is. */
  long position() {
    return at[index] + done;
  }

  /** How much of the current piece is left. */
  long left() {
    return bytes[index] - done;
  }

  /** Which piece the stream is in. */
  int index() {
    return index;
  }

  boolean ended() {
    return index == count;
  }

  void advance(long n) {
    done += n;
    skipEmpty();
  }

  private void skipEmpty() {
    while (index < count && done == bytes[index]) {
      index++;
      done = 0;
    }
  }

  /** How much of all pieces is left. */
  long leftOfAll() {
    long n = -done;
    for (int i = index; i < count; i++) {
      n += bytes[i];
    }
    return n;
  }
}
