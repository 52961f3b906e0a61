package dev.millrace.collective.reduce;

import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.VectorModule;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/** Reduces bfloat16 elements: in float, rounded to the nearest, ties to even, every time. */
final class Bfloat16Reducer extends Reducer {
  private static final ValueLayout.OfShort ONE = ValueLayout.JAVA_SHORT_UNALIGNED;

  Bfloat16Reducer(ReduceOp op) {
    super(op, Short.BYTES);
  }

  @Override
  void loop(
      MemorySegment a,
      long aAt,
      MemorySegment b,
      long bAt,
      MemorySegment out,
      long outAt,
      long bytes) {
    long vectors = inVectors(bytes);
    if (vectors > 0) {
      Vectors.loop(op().pairwise(), a, aAt, b, bAt, out, outAt, vectors);
    }
    for (long i = vectors; i < bytes; i += ONE.byteSize()) {
      float r = pair(one(a, aAt + i), one(b, bAt + i));
      out.set(ONE, outAt + i, Tensor.floatToBfloat16(r));
    }
  }

  private float pair(float x, float y) {
    return switch (op().pairwise()) {
      case MIN -> Math.min(x, y);
      case MAX -> Math.max(x, y);
      case PRODUCT -> x * y;
      default -> x + y;
    };
  }

  @Override
  void divide(MemorySegment x, long at, long bytes, int divisor) {
    long vectors = inVectors(bytes);
    if (vectors > 0) {
      Vectors.divide(x, at, vectors, divisor);
    }
    for (long i = vectors; i < bytes; i += ONE.byteSize()) {
      x.set(ONE, at + i, Tensor.floatToBfloat16(one(x, at + i) / divisor));
    }
  }

  private static float one(MemorySegment segment, long at) {
    return Tensor.bfloat16ToFloat(segment.get(ONE, at));
  }

  /** How many bytes of these the loops over vectors take. */
  private static long inVectors(long bytes) {
    return VectorModule.isPresent() ? bytes - bytes % Vectors.STEP : 0;
  }

  /** The loops over vectors: apart, as they can be linked only where there is the Vector API. */
  private static final class Vectors {
    private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;

    /** As many shorts as {@link #INTS} has lanes. */
    private static final VectorSpecies<Short> SHORTS =
        VectorSpecies.of(short.class, VectorShape.forBitSize(INTS.vectorBitSize() / 2));

    private static final int STEP = SHORTS.vectorByteSize();
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();

    private Vectors() {}

    static void loop(
        ReduceOp op,
        MemorySegment a,
        long aAt,
        MemorySegment b,
        long bAt,
        MemorySegment out,
        long outAt,
        long bytes) {
      switch (op) {
        case MIN -> {
          for (long i = 0; i < bytes; i += STEP) {
            store(load(a, aAt + i).min(load(b, bAt + i)), out, outAt + i);
          }
        }
        case MAX -> {
          for (long i = 0; i < bytes; i += STEP) {
            store(load(a, aAt + i).max(load(b, bAt + i)), out, outAt + i);
          }
        }
        case PRODUCT -> {
          for (long i = 0; i < bytes; i += STEP) {
            store(load(a, aAt + i).mul(load(b, bAt + i)), out, outAt + i);
          }
        }
        default -> {
          for (long i = 0; i < bytes; i += STEP) {
            store(load(a, aAt + i).add(load(b, bAt + i)), out, outAt + i);
          }
        }
      }
    }

    static void divide(MemorySegment x, long at, long bytes, int divisor) {
      for (long i = 0; i < bytes; i += STEP) {
        store(load(x, at + i).div(divisor), x, at + i);
      }
    }

    private static FloatVector load(MemorySegment segment, long at) {
      IntVector bits =
          (IntVector)
              ShortVector.fromMemorySegment(SHORTS, segment, at, ORDER)
                  .convertShape(VectorOperators.ZERO_EXTEND_S2I, INTS, 0);
      return bits.lanewise(VectorOperators.LSHL, 16).reinterpretAsFloats();
    }

    private static void store(FloatVector v, MemorySegment segment, long at) {
      IntVector bits = v.reinterpretAsInts();
      IntVector top = bits.lanewise(VectorOperators.LSHR, 16);
      IntVector rounded = bits.add(0x7FFF).add(top.and(1)).lanewise(VectorOperators.LSHR, 16);
      VectorMask<Integer> nan = v.test(VectorOperators.IS_NAN).cast(INTS);
      ShortVector narrow =
          (ShortVector)
              rounded.blend(top.or(0x40), nan).convertShape(VectorOperators.I2S, SHORTS, 0);
      narrow.intoMemorySegment(segment, at, ORDER);
    }
  }
}
