package dev.millrace.collective.reduce;

import dev.millrace.tensor.VectorModule;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorSpecies;

/** Reduces signed and unsigned {@code int} elements with vector instructions. */
final class IntReducer extends Reducer {
  private static final ValueLayout.OfInt ONE = ValueLayout.JAVA_INT_UNALIGNED;

  private final boolean unsigned;

  IntReducer(ReduceOp op, boolean unsigned) {
    super(op, Integer.BYTES);
    this.unsigned = unsigned;
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
    long vectors = unsigned && isOrdered() ? 0 : inVectors(bytes);
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

  private boolean isOrdered() {
    return op() == ReduceOp.MIN || op() == ReduceOp.MAX;
  }

  private int pair(int x, int y) {
    return switch (op().pairwise()) {
      case MIN -> less(x, y) ? x : y;
      case MAX -> less(x, y) ? y : x;
      case PRODUCT -> x * y;
      default -> x + y;
    };
  }

  private boolean less(int x, int y) {
    return unsigned ? Integer.compareUnsigned(x, y) < 0 : x < y;
  }

  @Override
  void divide(MemorySegment x, long at, long bytes, int divisor) {
    for (long i = 0; i < bytes; i += ONE.byteSize()) {
      int v = x.get(ONE, at + i);
      x.set(ONE, at + i, unsigned ? Integer.divideUnsigned(v, divisor) : v / divisor);
    }
  }

  /** How many bytes of these the loops over vectors take. */
  private static long inVectors(long bytes) {
    return VectorModule.isPresent() ? bytes - bytes % Vectors.STEP : 0;
  }

  /** The loops over vectors: apart, as they can be linked only where there is the Vector API. */
  private static final class Vectors {
    private static final VectorSpecies<Integer> SPECIES = IntVector.SPECIES_PREFERRED;
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

    private static IntVector load(MemorySegment segment, long at) {
      return IntVector.fromMemorySegment(SPECIES, segment, at, ORDER);
    }
  }
}
