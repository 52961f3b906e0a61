package dev.millrace.collective.reduce;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

/** Reduces {@code float} elements, or the parts of complex ones, with vector instructions. */
final class FloatReducer extends Reducer {
  private static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
  private static final int STEP = SPECIES.vectorByteSize();
  private static final ValueLayout.OfFloat ONE = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final ByteOrder ORDER = ByteOrder.nativeOrder();

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
    long vectors = bytes - bytes % STEP;
    switch (op().pairwise()) {
      case MIN -> min(a, aAt, b, bAt, out, outAt, vectors);
      case MAX -> max(a, aAt, b, bAt, out, outAt, vectors);
      case PRODUCT -> product(a, aAt, b, bAt, out, outAt, vectors);
      default -> sum(a, aAt, b, bAt, out, outAt, vectors);
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

  private static void sum(
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

  private static void product(
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

  private static void min(
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

  private static void max(
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

  @Override
  void divide(MemorySegment x, long at, long bytes, int divisor) {
    long vectors = bytes - bytes % STEP;
    for (long i = 0; i < vectors; i += STEP) {
      load(x, at + i).div(divisor).intoMemorySegment(x, at + i, ORDER);
    }
    for (long i = vectors; i < bytes; i += ONE.byteSize()) {
      x.set(ONE, at + i, x.get(ONE, at + i) / divisor);
    }
  }

  private static FloatVector load(MemorySegment segment, long at) {
    return FloatVector.fromMemorySegment(SPECIES, segment, at, ORDER);
  }
}
