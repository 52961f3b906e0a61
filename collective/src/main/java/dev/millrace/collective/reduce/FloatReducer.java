package dev.millrace.collective.reduce;

import dev.millrace.tensor.VectorModule;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

/** Reduces {@code float} elements, or the parts of complex ones, with vector instructions. */
final class FloatReducer extends Reducer {
  private static final ValueLayout.OfFloat ONE = ValueLayout.JAVA_FLOAT_UNALIGNED;

  FloatReducer(ReduceOp op, int elementBytes) {
    super(op, elementBytes);
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
      switch (op().pairwise()) {
        case MIN -> Vectors.min(a, aAt, b, bAt, out, outAt, vectors);
        case MAX -> Vectors.max(a, aAt, b, bAt, out, outAt, vectors);
        case PRODUCT -> Vectors.product(a, aAt, b, bAt, out, outAt, vectors);
        default -> Vectors.sum(a, aAt, b, bAt, out, outAt, vectors);
      }
    }
    for (long i = vectors; i < bytes; i += ONE.byteSize()) {
      out.set(ONE, outAt + i, pair(a.get(ONE, aAt + i), b.get(ONE, bAt + i)));
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
      x.set(ONE, at + i, x.get(ONE, at + i) / divisor);
    }
  }

  /** How many bytes of these the loops over vectors take. */
  private static long inVectors(long bytes) {
    return VectorModule.isPresent() ? bytes - bytes % Vectors.STEP : 0;
  }

  /** The loops over vectors: apart, as they can be linked only where there is the Vector API. */
  private static final class Vectors {
    private static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
    private static final int STEP = SPECIES.vectorByteSize();
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();

    private Vectors() {}

    static void sum(
        MemorySegment a,
        long aAt,
        MemorySegment b,
        long bAt,
        MemorySegment out,
        long outAt,
        long bytes) {
      for (long i = 0; i < bytes; i += STEP) {
        load(a, aAt + i).add(load(b, bAt + i)).intoMemorySegment(out, outAt + i, ORDER);
      }
    }

    static void product(
        MemorySegment a,
        long aAt,
        MemorySegment b,
        long bAt,
        MemorySegment out,
        long outAt,
        long bytes) {
      for (long i = 0; i < bytes; i += STEP) {
        load(a, aAt + i).mul(load(b, bAt + i)).intoMemorySegment(out, outAt + i, ORDER);
      }
    }

    static void min(
        MemorySegment a,
        long aAt,
        MemorySegment b,
        long bAt,
        MemorySegment out,
        long outAt,
        long bytes) {
      for (long i = 0; i < bytes; i += STEP) {
        load(a, aAt + i).min(load(b, bAt + i)).intoMemorySegment(out, outAt + i, ORDER);
      }
    }

    static void max(
        MemorySegment a,
        long aAt,
        MemorySegment b,
        long bAt,
        MemorySegment out,
        long outAt,
        long bytes) {
      for (long i = 0; i < bytes; i += STEP) {
        load(a, aAt + i).max(load(b, bAt + i)).intoMemorySegment(out, outAt + i, ORDER);
      }
    }

    static void divide(MemorySegment x, long at, long bytes, int divisor) {
      for (long i = 0; i < bytes; i += STEP) {
        load(x, at + i).div(divisor).intoMemorySegment(x, at + i, ORDER);
      }
    }

    private static FloatVector load(MemorySegment segment, long at) {
      return FloatVector.fromMemorySegment(SPECIES, segment, at, ORDER);
    }
  }
}
