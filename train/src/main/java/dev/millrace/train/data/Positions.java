package dev.millrace.train.data;

import java.util.Arrays;

/** Positions of one dataset made of that of another and a number of its own, which comes last. */
final class Positions {
  private Positions() {}

  static long[] with(long[] inner, long own) {
    long[] all = Arrays.copyOf(inner, inner.length + 1);
    all[inner.length] = own;
    return all;
  }

  static long last(long[] position) {
    return position[position.length - 1];
  }

  static long[] butLast(long[] position) {
    return Arrays.copyOf(position, position.length - 1);
  }
}
