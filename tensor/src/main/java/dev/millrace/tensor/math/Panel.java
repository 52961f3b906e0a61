package dev.millrace.tensor.math;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Copies parts of a matrix into panels: {@code depth} lines of {@code width} elements. */
final class Panel {
  private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;
  private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;

  private Panel() {}

  static void pack(
      MemorySegment from,
      long at,
      long stride,
      boolean transpose,
      int depth,
      int used,
      MemorySegment to,
      long toAt,
      int width,
      int bytes) {
    long lineStep = transpose ? bytes : stride;
    long elementStep = transpose ? stride : bytes;
    if (bytes == 4) {
      for (int p = 0; p < depth; p++) {
        long q = toAt + (long) p * width * 4;
        long f = at + p * lineStep;
        for (int i = 0; i < used; i++) {
          to.set(I32, q + i * 4L, from.get(I32, f + i * elementStep));
        }
        for (int i = used; i < width; i++) {
          to.set(I32, q + i * 4L, 0);
        }
      }
    } else {
      for (int p = 0; p < depth; p++) {
        long q = toAt + (long) p * width * 8;
        long f = at + p * lineStep;
        for (int i = 0; i < used; i++) {
          to.set(I64, q + i * 8L, from.get(I64, f + i * elementStep));
        }
        for (int i = used; i < width; i++) {
          to.set(I64, q + i * 8L, 0);
        }
      }
    }
  }
}
