package dev.millrace.tensor.math.gemm;

import static dev.millrace.tensor.math.AllMemory.ALL;

import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorShuffle;
import jdk.incubator.vector.VectorSpecies;

/**
 * Copies part of a matrix into a panel: {@code depth} lines of {@code width} elements, of which the
 * first {@code used} are the matrix's and the others zero. A line is a piece of a row of the
 * matrix, or with {@code transpose} of a column.
 */
public final class Panel {
  private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;
  private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;
  private static final ByteOrder ORDER = ByteOrder.LITTLE_ENDIAN;
  private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
  private static final VectorSpecies<Float> FOUR = FloatVector.SPECIES_128;

  private static final VectorShuffle<Float> LOW_TWICE = VectorShuffle.fromValues(FOUR, 0, 0, 1, 1);
  private static final VectorShuffle<Float> HIGH_TWICE = VectorShuffle.fromValues(FOUR, 2, 2, 3, 3);
  private static final VectorShuffle<Float> LOW_PAIR = VectorShuffle.fromValues(FOUR, 0, 1, 0, 1);
  private static final VectorShuffle<Float> HIGH_PAIR = VectorShuffle.fromValues(FOUR, 2, 3, 2, 3);
  private static final VectorMask<Float> ODD =
      VectorMask.fromValues(FOUR, false, true, false, true);
  private static final VectorMask<Float> UPPER =
      VectorMask.fromValues(FOUR, false, false, true, true);

  private Panel() {}

  /** Copies between these addresses; {@code stride} is the bytes from one row to the next. */
  static void pack(
      long from,
      long stride,
      boolean transpose,
      int depth,
      int used,
      long to,
      int width,
      int bytes) {
    if (bytes != 4 || used < width) {
      plain(from, stride, transpose, depth, used, to, width, bytes);
    } else if (transpose) {
      // The last group of four may overlap the one before it.
      for (int i = 0; i < width; i += 4) {
        int row = Math.min(i, width - 4);
        fourRows(from + row * stride, stride, depth, to + row * 4L, width * 4L);
      }
    } else if (width % S.length() == 0) {
      for (int j = 0; j < width; j += S.length()) {
        vectors(from + j * 4L, stride, depth, to + j * 4L, width * 4L);
      }
    } else {
      for (int j = 0; j < width; j += 4) {
        int col = Math.min(j, width - 4);
        fours(from + col * 4L, stride, depth, to + col * 4L, width * 4L);
      }
    }
  }

  /** Copies whole rows of floats into panels side by side, each two vectors wide. */
  static void rows(long from, long stride, int depth, int panels, long to, long panelBytes) {
    long v = S.vectorByteSize();
    for (int p = 0; p < depth; p += 8) {
      int n = Math.min(8, depth - p);
      for (int j = 0; j < panels; j++) {
        long f = from + p * stride + 2 * v * j;
        long t = to + j * panelBytes + 2 * v * p;
        for (long i = 0; i < n; i++) {
          FloatVector x = FloatVector.fromMemorySegment(S, ALL, f + i * stride, ORDER);
          FloatVector y = FloatVector.fromMemorySegment(S, ALL, f + i * stride + v, ORDER);
          x.intoMemorySegment(ALL, t + i * 2 * v, ORDER);
          y.intoMemorySegment(ALL, t + i * 2 * v + v, ORDER);
        }
      }
    }
  }

  private static void vectors(long from, long stride, long depth, long to, long step) {
    for (long p = 0; p < depth; p++) {
      FloatVector.fromMemorySegment(S, ALL, from + p * stride, ORDER)
          .intoMemorySegment(ALL, to + p * step, ORDER);
    }
  }

  private static void fours(long from, long stride, long depth, long to, long step) {
    for (long p = 0; p < depth; p++) {
      FloatVector.fromMemorySegment(FOUR, ALL, from + p * stride, ORDER)
          .intoMemorySegment(ALL, to + p * step, ORDER);
    }
  }

  /** Four rows become four columns, four by four elements at a time. */
  private static void fourRows(long from, long stride, long depth, long to, long step) {
    long whole = depth & -4;
    squares(from, stride, 16, to, step, 4 * step, whole / 4);
    for (int i = 0; i < 4; i++) {
      column4(from + i * stride + whole * 4, 4, depth - whole, to + whole * step + i * 4L, step);
    }
  }

  /** Four columns become four rows. */
  private static void fourColumns(long from, long stride, long depth, long to, long step) {
    long whole = depth & -4;
    squares(from, stride, 4 * stride, to, step, 16, whole / 4);
    for (int i = 0; i < 4; i++) {
      column4(from + whole * stride + i * 4L, stride, depth - whole, to + i * step + whole * 4, 4);
    }
  }

  /**
   * Transposes {@code n} squares of four by four elements, which follow each other at a distance of
   * {@code next} bytes, to squares at a distance of {@code nextTo}.
   */
  private static void squares(
      long from, long stride, long next, long to, long step, long nextTo, long n) {
    for (long i = 0; i < n; i++) {
      long f = from + i * next;
      FloatVector a = FloatVector.fromMemorySegment(FOUR, ALL, f, ORDER);
      FloatVector b = FloatVector.fromMemorySegment(FOUR, ALL, f + stride, ORDER);
      FloatVector c = FloatVector.fromMemorySegment(FOUR, ALL, f + 2 * stride, ORDER);
      FloatVector d = FloatVector.fromMemorySegment(FOUR, ALL, f + 3 * stride, ORDER);
      FloatVector abLow = a.rearrange(LOW_TWICE).blend(b.rearrange(LOW_TWICE), ODD);
      FloatVector abHigh = a.rearrange(HIGH_TWICE).blend(b.rearrange(HIGH_TWICE), ODD);
      FloatVector cdLow = c.rearrange(LOW_TWICE).blend(d.rearrange(LOW_TWICE), ODD);
      FloatVector cdHigh = c.rearrange(HIGH_TWICE).blend(d.rearrange(HIGH_TWICE), ODD);
      long t = to + i * nextTo;
      abLow.blend(cdLow.rearrange(LOW_PAIR), UPPER).intoMemorySegment(ALL, t, ORDER);
      abLow.rearrange(HIGH_PAIR).blend(cdLow, UPPER).intoMemorySegment(ALL, t + step, ORDER);
      abHigh.blend(cdHigh.rearrange(LOW_PAIR), UPPER).intoMemorySegment(ALL, t + 2 * step, ORDER);
      abHigh.rearrange(HIGH_PAIR).blend(cdHigh, UPPER).intoMemorySegment(ALL, t + 3 * step, ORDER);
    }
  }

  /** Writes the transposed of {@code rows} by {@code cols} floats; strides are in bytes. */
  public static void transpose(long from, long stride, int rows, int cols, long to, long step) {
    if (Math.min(rows, cols) < 4) {
      for (int i = 0; i < rows; i++) {
        column4(from + i * stride, 4, cols, to + i * 4L, step);
      }
      return;
    }
    // Along the longer side. The last group of four may overlap the one before it.
    if (cols >= rows) {
      for (int i = 0; i < rows; i += 4) {
        int row = Math.min(i, rows - 4);
        fourRows(from + row * stride, stride, cols, to + row * 4L, step);
      }
    } else {
      for (int j = 0; j < cols; j += 4) {
        int col = Math.min(j, cols - 4);
        fourColumns(from + col * 4L, stride, rows, to + col * step, step);
      }
    }
  }

  private static void plain(
      long from,
      long stride,
      boolean transpose,
      int depth,
      int used,
      long to,
      int width,
      int bytes) {
    if (used < width) {
      ALL.asSlice(to, (long) depth * width * bytes).fill((byte) 0);
    }
    long lineStep = transpose ? bytes : stride;
    long elementStep = transpose ? stride : bytes;
    for (int i = 0; i < used; i++) {
      long f = from + i * elementStep;
      long t = to + (long) i * bytes;
      if (bytes == 4) {
        column4(f, lineStep, depth, t, width * 4L);
      } else {
        column8(f, lineStep, depth, t, width * 8L);
      }
    }
  }

  private static void column4(long from, long stride, long depth, long to, long step) {
    for (long p = 0; p < depth; p++) {
      ALL.set(I32, to + p * step, ALL.get(I32, from + p * stride));
    }
  }

  private static void column8(long from, long stride, long depth, long to, long step) {
    for (long p = 0; p < depth; p++) {
      ALL.set(I64, to + p * step, ALL.get(I64, from + p * stride));
    }
  }
}
