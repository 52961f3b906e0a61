package dev.millrace.collective.reduce;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Reduces sixteen-bit integers. */
final class ShortReducer extends ArrayReducer<short[]> {
  private final boolean unsigned;

  ShortReducer(ReduceOp op, boolean unsigned) {
    super(op, Short.BYTES);
    this.unsigned = unsigned;
  }

  @Override
  short[] array(int n) {
    return new short[n];
  }

  @Override
  void load(MemorySegment from, long at, short[] into, int n) {
    MemorySegment.copy(from, ValueLayout.JAVA_SHORT_UNALIGNED, at, into, 0, n);
  }

  @Override
  void store(short[] from, MemorySegment into, long at, int n) {
    MemorySegment.copy(from, 0, into, ValueLayout.JAVA_SHORT_UNALIGNED, at, n);
  }

  @Override
  void reduce(short[] x, short[] y, int n) {
    // With its top bit flipped an unsigned value compares as a signed one.
    int flip = unsigned ? Short.MIN_VALUE : 0;
    switch (op().pairwise()) {
      case MIN -> {
        for (int i = 0; i < n; i++) {
          x[i] = (short) (Math.min((short) (x[i] ^ flip), (short) (y[i] ^ flip)) ^ flip);
        }
      }
      case MAX -> {
        for (int i = 0; i < n; i++) {
          x[i] = (short) (Math.max((short) (x[i] ^ flip), (short) (y[i] ^ flip)) ^ flip);
        }
      }
      case PRODUCT -> {
        for (int i = 0; i < n; i++) {
          x[i] = (short) (x[i] * y[i]);
        }
      }
      default -> {
        for (int i = 0; i < n; i++) {
          x[i] = (short) (x[i] + y[i]);
        }
      }
    }
  }

  @Override
  void divide(short[] x, int n, int divisor) {
    int mask = unsigned ? 0xFFFF : -1;
    for (int i = 0; i < n; i++) {
      x[i] = (short) ((x[i] & mask) / divisor);
    }
  }
}
