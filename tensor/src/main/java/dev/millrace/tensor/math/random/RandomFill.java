package dev.millrace.tensor.math.random;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.VectorModule;
import dev.millrace.tensor.math.Parallel;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.nio.ByteOrder;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorSpecies;

/**
 * Fills tensors with random numbers from a {@link Philox} sequence, the same ones TensorFlow takes
 * from it: bit for bit where they are uniform, to the last places where they are normal.
 *
 * <p>Elements come in groups of four (two for 64-bit types), and group i uses counter i, so that
 * the result does not depend on how the groups are split over threads. A truncated normal may need
 * any number of tries, so there each element is given 256 numbers of its own.
 */
public final class RandomFill {
  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final ValueLayout.OfDouble F64 = ValueLayout.JAVA_DOUBLE_UNALIGNED;
  private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;
  private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;

  private static final long GRAIN = 1 << 11;
  private static final float SMALLEST = 1e-7f;

  /** Normal values this far out are drawn again. */
  private static final double CUT = 2;

  /** Counters an element of a truncated normal may use. */
  private static final long COUNTERS_PER_ELEMENT = 256 / 4;

  /** Counters whose numbers are drawn together. */
  private static final int BLOCK = 128;

  /** Sets elements {@code first} to {@code end} of the numbers drawn for them. */
  private interface Block {
    void write(int[] numbers, long first, long end);
  }

  private RandomFill() {}

  /** Floating elements, uniform from 0 (inclusive) to 1 (exclusive). */
  public static void uniform(Philox source, Tensor out) {
    MemorySegment m = out.data();
    switch (out.dtype()) {
      case FLOAT ->
          fill(
              source,
              out,
              4,
              (r, first, end) -> {
                boolean vectors = VectorModule.isPresent() && !Philox.isCold();
                long i = vectors ? Vectors.unit(r, first, end, m) : first;
                for (; i < end; i++) {
                  m.setAtIndex(F32, i, Philox.unitFloat(r[(int) (i - first)]));
                }
              });
      case DOUBLE ->
          fill(
              source,
              out,
              2,
              (r, first, end) -> {
                for (long i = first; i < end; i++) {
                  int k = (int) (i - first) * 2;
                  m.setAtIndex(F64, i, Philox.unitDouble(r[k], r[k + 1]));
                }
              });
      default ->
          fill(
              source,
              out,
              4,
              (r, first, end) -> {
                for (long i = first; i < end; i++) {
                  out.setDouble(i, unitShort(out.dtype(), r[(int) (i - first)]));
                }
              });
    }
    Reference.reachabilityFence(out);
  }

  private static double unitShort(DType type, int bits) {
    return type == DType.HALF
        ? Float.float16ToFloat((short) (bits & 0x3FF | 0x3C00)) - 1
        : Tensor.bfloat16ToFloat((short) (bits & 0x7F | 0x3F80)) - 1;
  }

  /** Elements of int32 or int64, from {@code low} (inclusive) to {@code high} (exclusive). */
  public static void uniform(Philox source, long low, long high, Tensor out) {
    MemorySegment m = out.data();
    long range = high - low;
    if (out.dtype() == DType.INT32) {
      int n = (int) range;
      fill(
          source,
          out,
          4,
          (r, first, end) -> {
            for (long i = first; i < end; i++) {
              int k = Integer.remainderUnsigned(r[(int) (i - first)], n);
              m.setAtIndex(I32, i, (int) low + k);
            }
          });
    } else {
      fill(
          source,
          out,
          2,
          (r, first, end) -> {
            for (long i = first; i < end; i++) {
              int k = (int) (i - first) * 2;
              long v = (r[k] & 0xFFFFFFFFL) | (long) r[k + 1] << 32;
              m.setAtIndex(I64, i, low + Long.remainderUnsigned(v, range));
            }
          });
    }
    Reference.reachabilityFence(out);
  }

  /** Floating elements of a normal distribution with mean 0 and deviation 1. */
  public static void normal(Philox source, Tensor out) {
    boolean twice = out.dtype() == DType.DOUBLE;
    fill(
        source,
        out,
        twice ? 2 : 4,
        (r, first, end) -> {
          for (long i = first; i < end; i += 2) {
            int k = (int) (i - first);
            Polar p =
                twice
                    ? Polar.of(r[2 * k], r[2 * k + 1], r[2 * k + 2], r[2 * k + 3])
                    : Polar.of(r[k], r[k + 1]);
            out.setDouble(i, p.sine());
            if (i + 1 < end) {
              out.setDouble(i + 1, p.cosine());
            }
          }
        });
    Reference.reachabilityFence(out);
  }

  /** Fills {@code out} with standard normal values; values outside (-2, 2) are drawn again. */
  public static void truncatedNormal(Philox source, Tensor out) {
    boolean twice = out.dtype() == DType.DOUBLE;
    int size = twice ? 2 : 4;
    long n = out.elements();
    Parallel.run(
        (n + size - 1) / size,
        GRAIN / 4,
        (from, to) -> {
          for (long g = from; g < to; g++) {
            Philox.Cursor c = source.skipped(g * size * COUNTERS_PER_ELEMENT).cursor();
            long i = g * size;
            long end = Math.min(n, i + size);
            while (i < end) {
              Polar p =
                  twice
                      ? Polar.of(c.nextInt(), c.nextInt(), c.nextInt(), c.nextInt())
                      : Polar.of(c.nextInt(), c.nextInt());
              if (Math.abs(p.sine()) < CUT) {
                out.setDouble(i++, p.sine());
              }
              if (i < end && Math.abs(p.cosine()) < CUT) {
                out.setDouble(i++, p.cosine());
              }
            }
          }
        });
    Reference.reachabilityFence(out);
  }

  /** Element {@code k} of the group of a floating type that a counter's four numbers give. */
  public static double uniformOf(DType type, int[] numbers, int k) {
    return switch (type) {
      case FLOAT -> Philox.unitFloat(numbers[k]);
      case DOUBLE -> Philox.unitDouble(numbers[2 * k], numbers[2 * k + 1]);
      default -> unitShort(type, numbers[k]);
    };
  }

  /** The {@code k}-th standard normal value of one block of random numbers. */
  public static double normalOf(DType type, int[] numbers, int k) {
    Polar p =
        type == DType.DOUBLE
            ? Polar.of(numbers[0], numbers[1], numbers[2], numbers[3])
            : Polar.of(numbers[k & ~1], numbers[k | 1]);
    return (k & 1) == 0 ? p.sine() : p.cosine();
  }

  /** Two independent normal values, the coordinates of a point drawn by radius and angle. */
  private record Polar(double sine, double cosine) {
    /** In single precision, as TensorFlow computes them for all types but double. */
    static Polar of(int x0, int x1) {
      float u = Math.max(Philox.unitFloat(x0), SMALLEST);
      float angle = (float) (2 * Math.PI * Philox.unitFloat(x1));
      float radius = (float) Math.sqrt(-2 * (float) Math.log(u));
      return new Polar((float) Math.sin(angle) * radius, (float) Math.cos(angle) * radius);
    }

    static Polar of(int x0, int x1, int x2, int x3) {
      double u = Math.max(Philox.unitDouble(x0, x1), 1e-7);
      double angle = 2 * Math.PI * Philox.unitDouble(x2, x3);
      double radius = Math.sqrt(-2 * Math.log(u));
      return new Polar(Math.sin(angle) * radius, Math.cos(angle) * radius);
    }
  }

  private static void fill(Philox source, Tensor out, int size, Block block) {
    long n = out.elements();
    Parallel.run(
        (n + size - 1) / size,
        GRAIN,
        (from, to) -> {
          int[] numbers = new int[4 * BLOCK];
          for (long g = from; g < to; g += BLOCK) {
            int count = (int) Math.min(BLOCK, to - g);
            source.fill(g, count, numbers);
            block.write(numbers, g * size, Math.min(n, (g + count) * size));
          }
        });
  }

  /** The loops over vectors: apart, as they can be linked only where there is the Vector API. */
  private static final class Vectors {
    private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;

    private Vectors() {}

    /** Sets floats of whole vectors; gives the first that is left. */
    static long unit(int[] r, long first, long end, MemorySegment m) {
      long i = first;
      for (; i + INTS.length() <= end; i += INTS.length()) {
        IntVector.fromArray(INTS, r, (int) (i - first))
            .and(0x7FFFFF)
            .or(0x3F800000)
            .reinterpretAsFloats()
            .sub(1)
            .intoMemorySegment(m, 4 * i, ByteOrder.LITTLE_ENDIAN);
      }
      return i;
    }
  }
}
