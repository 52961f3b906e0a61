package dev.millrace.tensor.math;

import dev.millrace.tensor.DType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The pooling of doubles and, as far as it is defined, of integers. */
final class PlainPool {
  private static final ValueLayout.OfDouble F64 = ValueLayout.JAVA_DOUBLE_UNALIGNED;
  private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;
  private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;
  private static final ValueLayout.OfShort I16 = ValueLayout.JAVA_SHORT_UNALIGNED;
  private static final ValueLayout.OfByte I8 = ValueLayout.JAVA_BYTE;

  private PlainPool() {}

  /** Maxima of output rows {@code from} to {@code to}, counted over all images. */
  static void max(Pool pool, MemorySegment input, MemorySegment output, int from, int to) {
    PoolWindow w = new PoolWindow(pool);
    int columns = pool.outputWidth();
    for (int row = from; row < to; row++) {
      for (int x = 0; x < columns; x++) {
        w.moveTo(row, x);
        for (int c = 0; c < pool.channels(); c++) {
          if (pool.type() == DType.DOUBLE) {
            output.setAtIndex(F64, w.output + c, maxOfDoubles(w, input, c));
          } else {
            write(pool.type(), output, w.output + c, maxOfIntegers(pool.type(), w, input, c));
          }
        }
      }
    }
  }

  private static double maxOfDoubles(PoolWindow w, MemorySegment input, int c) {
    double max = -Double.MAX_VALUE;
    for (int i = w.top; i < w.bottom; i++) {
      for (int j = w.left; j < w.right; j++) {
        double v = input.getAtIndex(F64, w.input(i, j) + c);
        max = v > max ? v : max;
      }
    }
    return max;
  }

  private static long maxOfIntegers(DType type, PoolWindow w, MemorySegment input, int c) {
    long max = lowest(type);
    for (int i = w.top; i < w.bottom; i++) {
      for (int j = w.left; j < w.right; j++) {
        long v = read(type, input, w.input(i, j) + c);
        boolean greater = type == DType.UINT64 ? Long.compareUnsigned(v, max) > 0 : v > max;
        max = greater ? v : max;
      }
    }
    return max;
  }

  /** Averages of output rows {@code from} to {@code to}, counted over all images. */
  static void average(Pool pool, MemorySegment input, MemorySegment output, int from, int to) {
    PoolWindow w = new PoolWindow(pool);
    int columns = pool.outputWidth();
    for (int row = from; row < to; row++) {
      for (int x = 0; x < columns; x++) {
        w.moveTo(row, x);
        double count = Math.max(1, w.count());
        for (int c = 0; c < pool.channels(); c++) {
          double sum = 0;
          for (int i = w.top; i < w.bottom; i++) {
            for (int j = w.left; j < w.right; j++) {
              sum += input.getAtIndex(F64, w.input(i, j) + c);
            }
          }
          output.setAtIndex(F64, w.output + c, sum / count);
        }
      }
    }
  }

  /** The gradient of images {@code from} to {@code to}. */
  static void maxGradient(
      Pool pool, MemorySegment input, MemorySegment dOut, MemorySegment dIn, int from, int to) {
    clear(pool, dIn, from, to);
    PoolWindow w = new PoolWindow(pool);
    int columns = pool.outputWidth();
    for (int row = from * pool.outputHeight(); row < to * pool.outputHeight(); row++) {
      for (int x = 0; x < columns; x++) {
        w.moveTo(row, x);
        for (int c = 0; c < pool.channels() && w.count() > 0; c++) {
          long best = w.input(w.top, w.left) + c;
          for (int i = w.top; i < w.bottom; i++) {
            for (int j = w.left; j < w.right; j++) {
              long at = w.input(i, j) + c;
              if (input.getAtIndex(F64, at) > input.getAtIndex(F64, best)) {
                best = at;
              }
            }
          }
          double sum = dIn.getAtIndex(F64, best) + dOut.getAtIndex(F64, w.output + c);
          dIn.setAtIndex(F64, best, sum);
        }
      }
    }
  }

  /** The gradient of images {@code from} to {@code to}. */
  static void averageGradient(Pool pool, MemorySegment dOut, MemorySegment dIn, int from, int to) {
    clear(pool, dIn, from, to);
    PoolWindow w = new PoolWindow(pool);
    int columns = pool.outputWidth();
    for (int row = from * pool.outputHeight(); row < to * pool.outputHeight(); row++) {
      for (int x = 0; x < columns; x++) {
        w.moveTo(row, x);
        double count = Math.max(1, w.count());
        for (int c = 0; c < pool.channels(); c++) {
          double share = dOut.getAtIndex(F64, w.output + c) / count;
          for (int i = w.top; i < w.bottom; i++) {
            for (int j = w.left; j < w.right; j++) {
              long at = w.input(i, j) + c;
              dIn.setAtIndex(F64, at, dIn.getAtIndex(F64, at) + share);
            }
          }
        }
      }
    }
  }

  private static void clear(Pool pool, MemorySegment dIn, int from, int to) {
    long image = 8L * pool.height() * pool.width() * pool.channels();
    dIn.asSlice(from * image, (to - from) * image).fill((byte) 0);
  }

  private static long lowest(DType type) {
    return switch (type) {
      case INT64 -> Long.MIN_VALUE;
      case INT32 -> Integer.MIN_VALUE;
      case INT16 -> Short.MIN_VALUE;
      case INT8 -> Byte.MIN_VALUE;
      default -> 0;
    };
  }

  private static long read(DType type, MemorySegment s, long i) {
    return switch (type) {
      case INT64, UINT64 -> s.getAtIndex(I64, i);
      case INT32 -> s.getAtIndex(I32, i);
      case UINT32 -> s.getAtIndex(I32, i) & 0xFFFFFFFFL;
      case INT16 -> s.getAtIndex(I16, i);
      case UINT16 -> s.getAtIndex(I16, i) & 0xFFFF;
      case INT8 -> s.get(I8, i);
      default -> s.get(I8, i) & 0xFF;
    };
  }

  private static void write(DType type, MemorySegment s, long i, long v) {
    switch (type.bytes()) {
      case 8 -> s.setAtIndex(I64, i, v);
      case 4 -> s.setAtIndex(I32, i, (int) v);
      case 2 -> s.setAtIndex(I16, i, (short) v);
      default -> s.set(I8, i, (byte) v);
    }
  }
}
