package dev.millrace.tensor.math.reduce;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.VectorModule;
import dev.millrace.tensor.math.Parallel;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Sums per channel. A tensor is seen as {@code [outer, channels, inner]}: inner is 1 where channels
 * come last.
 *
 * <p>With few channels a row is not a whole number of vectors. Several rows together are: the loops
 * work on as many at once as it takes (a <em>fold</em>).
 */
public final class ChannelSum {
  /** Floats that a loop takes at a time. */
  private static final int L = VectorModule.isPresent() ? Vectors.L : 1;

  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final long GRAIN = 1 << 15;

  private ChannelSum() {}

  /** {@code out[c]} = the sum of {@code dy[o, c, i]} over o and i. */
  public static void run(Tensor dy, Tensor out, long outer, long channels, long inner) {
    if (dy.elements() == 0) {
      out.data().fill((byte) 0);
    } else if (dy.dtype() != DType.FLOAT) {
      sumScalar(dy, out, outer, channels, inner);
    } else if (inner == 1) {
      MemorySegment x = dy.data();
      overRows(
          out,
          outer,
          channels,
          (start, count, sums, at, width) -> addColumns(x, start, count, sums, at, width));
    } else {
      Parallel.run(
          channels,
          Math.max(1, GRAIN / (outer * inner)),
          (from, to) -> sumPlanes(dy.data(), out.data(), outer, channels, inner, from, to));
    }
  }

  /**
   * {@code out[c]} = the sum of {@code (u[o, c, i] - share * mean[c]) * (x[o, c, i] - mean[c])}
   * over o and i, of floats: with u = x and a share of 1 the squared deviations.
   */
  public static void products(
      Tensor u,
      float share,
      Tensor x,
      Tensor mean,
      Tensor out,
      long outer,
      long channels,
      long inner) {
    if (inner == 1) {
      float[] m = repeated(mean, fold(channels));
      overRows(
          out,
          outer,
          channels,
          (start, count, sums, at, width) ->
              addProducts(u.data(), share, x.data(), m, start, count, sums, at, width));
    } else {
      Parallel.run(
          channels,
          Math.max(1, GRAIN / (outer * inner)),
          (from, to) -> {
            for (long c = from; c < to; c++) {
              float m = mean.data().getAtIndex(F32, c);
              double sum = 0;
              for (long o = 0; o < outer; o++) {
                long start = (o * channels + c) * inner;
                sum += planeProduct(u.data(), share * m, x.data(), m, start, start + inner);
              }
              out.data().setAtIndex(F32, c, (float) sum);
            }
          });
    }
  }

  private static float[] repeated(Tensor values, int fold) {
    int n = Math.toIntExact(values.elements());
    float[] r = new float[n * fold];
    for (int f = 0; f < fold; f++) {
      MemorySegment.copy(values.data(), F32, 0, r, f * n, n);
    }
    return r;
  }

  /** Adds the floats of {@code x}, channels last, to the sums of the channels. */
  public static void addHere(MemorySegment x, MemorySegment sums, int channels) {
    addColumns(x, 0, x.byteSize() / Float.BYTES, sums, 0, channels);
  }

  /** Adds some whole rows to sums that stand side by side. */
  private interface Columns {
    void add(long start, long count, MemorySegment sums, long sumsAt, int width);
  }

  /** How many rows it takes to fill whole vectors; 1 where a ragged end hardly matters. */
  private static int fold(long channels) {
    if (channels >= 8L * L) {
      return 1;
    }
    int fold = 1;
    while (channels * fold % L != 0) {
      fold++;
    }
    return fold;
  }

  private static long multipleOf(long unit, long n) {
    return (n + unit - 1) / unit * unit;
  }

  /**
   * Sums the columns of a matrix. Rows are taken in blocks of fixed size, whose sums are then added
   * in order, so the result does not depend on the number of threads.
   */
  private static void overRows(Tensor out, long rows, long channels, Columns columns) {
    int fold = fold(channels);
    int width = Math.toIntExact(channels * fold);
    long block = multipleOf(fold, Math.max(256, 4 * GRAIN / channels));
    int blocks = Math.toIntExact((rows + block - 1) / block);
    Tensor parts = Refs.allocate(DType.FLOAT, Shape.of(blocks, width));
    try {
      MemorySegment p = parts.data();
      p.fill((byte) 0);
      Parallel.run(
          blocks,
          1,
          (from, to) -> {
            for (long b = from; b < to; b++) {
              long n = Math.min(block, rows - b * block);
              columns.add(b * block * channels, n * channels, p, b * width, width);
            }
          });
      MemorySegment o = out.data();
      o.fill((byte) 0);
      for (long i = 0; i < (long) blocks * fold; i++) {
        addColumns(p, i * channels, channels, o, 0, (int) channels);
      }
    } finally {
      Refs.release(parts);
    }
  }

  /** Adds {@code count} elements, row under row of {@code width}, to {@code sums}. */
  private static void addColumns(
      MemorySegment x, long start, long count, MemorySegment sums, long sumsAt, int width) {
    long rows = count / width;
    int c = width;
    if (VectorModule.isPresent()) {
      c = Vectors.addColumns(x, start, rows, sums, sumsAt, width);
    } else {
      for (long r = 0; r < rows; r++) {
        addRow(x, start + r * width, sums, sumsAt, width);
      }
    }
    for (; c < width; c++) {
      float s = sums.getAtIndex(F32, sumsAt + c);
      for (long r = 0; r < rows; r++) {
        s += x.getAtIndex(F32, start + r * width + c);
      }
      sums.setAtIndex(F32, sumsAt + c, s);
    }
    for (long i = rows * width; i < count; i++) {
      long at = sumsAt + i - rows * width;
      sums.setAtIndex(F32, at, sums.getAtIndex(F32, at) + x.getAtIndex(F32, start + i));
    }
  }

  private static void addRow(MemorySegment x, long at, MemorySegment sums, long to, int width) {
    for (int c = 0; c < width; c++) {
      sums.setAtIndex(F32, to + c, sums.getAtIndex(F32, to + c) + x.getAtIndex(F32, at + c));
    }
  }

  private static void addProducts(
      MemorySegment u,
      float share,
      MemorySegment x,
      float[] mean,
      long start,
      long count,
      MemorySegment sums,
      long sumsAt,
      int width) {
    long rows = count / width;
    int c =
        VectorModule.isPresent()
            ? Vectors.addProducts(u, share, x, mean, start, rows, sums, sumsAt, width)
            : 0;
    for (; c < width; c++) {
      float sum = sums.getAtIndex(F32, sumsAt + c);
      for (long r = 0; r < rows; r++) {
        long i = start + r * width + c;
        sum += (u.getAtIndex(F32, i) - share * mean[c]) * (x.getAtIndex(F32, i) - mean[c]);
      }
      sums.setAtIndex(F32, sumsAt + c, sum);
    }
    for (long i = rows * width; i < count; i++) {
      int k = (int) (i - rows * width);
      float left = u.getAtIndex(F32, start + i) - share * mean[k];
      float sum = sums.getAtIndex(F32, sumsAt + k);
      sums.setAtIndex(F32, sumsAt + k, sum + left * (x.getAtIndex(F32, start + i) - mean[k]));
    }
  }

  private static double planeProduct(
      MemorySegment u, float off, MemorySegment x, float m, long from, long to) {
    long vectors = VectorModule.isPresent() ? (to - from) / L * L : 0;
    long i = from + vectors;
    double sum = vectors > 0 ? Vectors.planeProduct(u, off, x, m, from, i) : 0;
    for (; i < to; i++) {
      sum += (u.getAtIndex(F32, i) - off) * (x.getAtIndex(F32, i) - m);
    }
    return sum;
  }

  private static void sumPlanes(
      MemorySegment x,
      MemorySegment out,
      long outer,
      long channels,
      long inner,
      long from,
      long to) {
    for (long c = from; c < to; c++) {
      double sum = 0;
      for (long o = 0; o < outer; o++) {
        long i = (o * channels + c) * inner;
        long end = i + inner;
        long vectors = VectorModule.isPresent() ? inner / L * L : 0;
        if (vectors > 0) {
          sum += Vectors.sum(x, i, i + vectors);
          i += vectors;
        }
        for (; i < end; i++) {
          sum += x.getAtIndex(F32, i);
        }
      }
      out.setAtIndex(F32, c, (float) sum);
    }
  }

  static void sumScalar(Tensor dy, Tensor out, long outer, long channels, long inner) {
    boolean floating = dy.dtype().isFloating();
    for (long c = 0; c < channels; c++) {
      double real = 0;
      long whole = 0;
      for (long o = 0; o < outer; o++) {
        long start = (o * channels + c) * inner;
        for (long i = start; i < start + inner; i++) {
          if (floating) {
            real += dy.doubleAt(i);
          } else {
            whole += dy.longAt(i);
          }
        }
      }
      if (floating) {
        out.setDouble(c, real);
      } else {
        out.setLong(c, whole);
      }
    }
  }

  /** The loops over vectors: apart, as they can be linked only where there is the Vector API. */
  private static final class Vectors {
    private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
    private static final ByteOrder LE = ByteOrder.LITTLE_ENDIAN;
    static final int L = S.length();

    private Vectors() {}

    static int addColumns(
        MemorySegment x, long start, long rows, MemorySegment sums, long sumsAt, int width) {
      int c = 0;
      for (; c <= width - 2 * L; c += 2 * L) {
        FloatVector a = FloatVector.fromMemorySegment(S, sums, 4 * (sumsAt + c), LE);
        FloatVector b = FloatVector.fromMemorySegment(S, sums, 4 * (sumsAt + c + L), LE);
        long at = 4 * (start + c);
        for (long r = 0; r < rows; r++, at += 4L * width) {
          a = a.add(FloatVector.fromMemorySegment(S, x, at, LE));
          b = b.add(FloatVector.fromMemorySegment(S, x, at + 4L * L, LE));
        }
        a.intoMemorySegment(sums, 4 * (sumsAt + c), LE);
        b.intoMemorySegment(sums, 4 * (sumsAt + c + L), LE);
      }
      for (; c <= width - L; c += L) {
        FloatVector a = FloatVector.fromMemorySegment(S, sums, 4 * (sumsAt + c), LE);
        long at = 4 * (start + c);
        for (long r = 0; r < rows; r++, at += 4L * width) {
          a = a.add(FloatVector.fromMemorySegment(S, x, at, LE));
        }
        a.intoMemorySegment(sums, 4 * (sumsAt + c), LE);
      }
      return c;
    }

    static int addProducts(
        MemorySegment u,
        float share,
        MemorySegment x,
        float[] mean,
        long start,
        long rows,
        MemorySegment sums,
        long sumsAt,
        int width) {
      int c = 0;
      for (; c <= width - L; c += L) {
        FloatVector m = FloatVector.fromArray(S, mean, c);
        FloatVector off = m.mul(share);
        FloatVector a = FloatVector.fromMemorySegment(S, sums, 4 * (sumsAt + c), LE);
        long at = 4 * (start + c);
        for (long r = 0; r < rows; r++, at += 4L * width) {
          FloatVector left = FloatVector.fromMemorySegment(S, u, at, LE).sub(off);
          a = left.fma(FloatVector.fromMemorySegment(S, x, at, LE).sub(m), a);
        }
        a.intoMemorySegment(sums, 4 * (sumsAt + c), LE);
      }
      return c;
    }

    static double planeProduct(
        MemorySegment u, float off, MemorySegment x, float m, long from, long to) {
      FloatVector v = FloatVector.zero(S);
      for (long i = from; i < to; i += L) {
        FloatVector left = FloatVector.fromMemorySegment(S, u, 4 * i, LE).sub(off);
        v = left.fma(FloatVector.fromMemorySegment(S, x, 4 * i, LE).sub(m), v);
      }
      return v.reduceLanes(VectorOperators.ADD);
    }

    static double sum(MemorySegment x, long from, long to) {
      FloatVector v = FloatVector.zero(S);
      for (long i = from; i < to; i += L) {
        v = v.add(FloatVector.fromMemorySegment(S, x, 4 * i, LE));
      }
      return v.reduceLanes(VectorOperators.ADD);
    }
  }
}
