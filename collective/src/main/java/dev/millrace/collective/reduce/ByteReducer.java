package dev.millrace.collective.reduce;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Reduces eight-bit integers, and bool as 0 and 1. */
final class ByteReducer extends ArrayReducer<byte[]> {
  private final boolean unsigned;

  ByteReducer(ReduceOp op, boolean unsigned) {
    super(op, 1);
    this.unsigned = unsigned;
  }

  @Override
  byte[] array(int n) {
    return new byte[n];
  }

  @Override
  void load(MemorySegment from, long at, byte[] into, int n) {
    MemorySegment.copy(from, ValueLayout.JAVA_BYTE, at, into, 0, n);
  }

  @Override
  void store(byte[] from, MemorySegment into, long at, int n) {
    MemorySegment.copy(from, 0, into, ValueLayout.JAVA_BYTE, at, n);
  }

  @Override
  void reduce(byte[] x, byte[] y, int n) {
    // With its top bit flipped an unsigned value compares as a signed one.
    int flip = unsigned ? Byte.MIN_VALUE : 0;
    switch (op().pairwise()) {
      case MIN -> {
        for (int i = 0; i < n; i++) {
          x[i] = (byte) (Math.min((byte) (x[i] ^ flip), (byte) (y[i] ^ flip)) ^ flip);
        }
      }
      case MAX -> {
        for (int i = 0; i < n; i++) {
          x[i] = (byte) (Math.max((byte) (x[i] ^ flip), (byte) (y[i] ^ flip)) ^ flip);
        }
      }
      case PRODUCT -> {
        for (int i = 0; i < n; i++) {
          x[i] = (byte) (x[i] * y[i]);
        }
      }
      default -> {
        for (int i = 0; i < n; i++) {
          x[i] = (byte) (x[i] + y[i]);
        }
      }
    }
  }

  @Override
  void divide(byte[] x, int n, int divisor) {
    int mask = unsigned ? 0xFF : -1;
    for (int i = 0; i < n; i++) {
      x[i] = (byte) ((x[i] & mask) / divisor);
    }
  }
}
