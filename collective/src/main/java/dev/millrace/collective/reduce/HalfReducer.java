package dev.millrace.collective.reduce;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Reduces half-precision floats: in float, rounded to half after every operation. */
final class HalfReducer extends ArrayReducer<short[]> {
  HalfReducer(ReduceOp op) {
    super(op, Short.BYTES);
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
    // One array per step of the computation: loops that convert and compute at once stay scalar.
    float[] a = widen(x, n);
    float[] b = widen(y, n);
    switch (op().pairwise()) {
      case MIN -> {
        for (int i = 0; i < n; i++) {
          a[i] = Math.min(a[i], b[i]);
        }
      }
      case MAX -> {
        for (int i = 0; i < n; i++) {
          a[i] = Math.max(a[i], b[i]);
        }
      }
      case PRODUCT -> {
        for (int i = 0; i < n; i++) {
          a[i] = a[i] * b[i];
        }
      }
      default -> {
        for (int i = 0; i < n; i++) {
          a[i] = a[i] + b[i];
        }
      }
    }
    narrow(a, x, n);
  }

  @Override
  void divide(short[] x, int n, int divisor) {
    float[] a = widen(x, n);
    for (int i = 0; i < n; i++) {
      a[i] = a[i] / divisor;
    }
    narrow(a, x, n);
  }

  private static float[] widen(short[] x, int n) {
    float[] out = new float[n];
    for (int i = 0; i < n; i++) {
      out[i] = Float.float16ToFloat(x[i]);
    }
    return out;
  }

  private static void narrow(float[] a, short[] out, int n) {
    for (int i = 0; i < n; i++) {
      out[i] = Float.floatToFloat16(a[i]);
    }
  }
}
