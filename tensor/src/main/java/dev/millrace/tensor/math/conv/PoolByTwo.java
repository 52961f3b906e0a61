package dev.millrace.tensor.math.conv;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * The most common pooling written out: windows of two by two floats that tile the image, channels
 * in whole vectors.
 */
final class PoolByTwo {
  private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
  private static final ByteOrder LE = ByteOrder.LITTLE_ENDIAN;
  private static final int VECTOR_BYTES = S.vectorByteSize();
  private static final Window TWO = Window.valid(2, 2, 1);

  private PoolByTwo() {}

  static boolean fits(ImagePool p) {
    return p.rows().equals(TWO)
        && p.columns().equals(TWO)
        && p.height() % 2 == 0
        && p.width() % 2 == 0
        && p.channels() % S.length() == 0;
  }

  /** Sets {@code y} to the largest of each window of {@code x}. */
  static void max(ImagePool p, MemorySegment x, MemorySegment y) {
    long pixel = 4L * p.channels();
    long row = pixel * p.width();
    long rows = (long) p.batch() * p.height() / 2;
    FloatVector lowest = FloatVector.broadcast(S, -Float.MAX_VALUE);
    long out = 0;
    for (long r = 0; r < rows; r++) {
      long end = 2 * r * row + row;
      for (long in = 2 * r * row; in < end; in += 2 * pixel) {
        for (long at = in; at < in + pixel; at += VECTOR_BYTES, out += VECTOR_BYTES) {
          FloatVector a = FloatVector.fromMemorySegment(S, x, at, LE);
          FloatVector b = FloatVector.fromMemorySegment(S, x, at + pixel, LE);
          FloatVector c = FloatVector.fromMemorySegment(S, x, at + row, LE);
          FloatVector d = FloatVector.fromMemorySegment(S, x, at + row + pixel, LE);
          FloatVector top = PoolVectors.larger(PoolVectors.larger(lowest, a), b);
          FloatVector bottom = PoolVectors.larger(PoolVectors.larger(lowest, c), d);
          PoolVectors.larger(top, bottom).intoMemorySegment(y, out, LE);
        }
      }
    }
  }

  /**
   * Sets {@code dx} to the gradient of each window at its first largest element, if that is above
   * zero.
   */
  static void gradientOfRelu(
      ImagePool p, MemorySegment x, MemorySegment y, MemorySegment dy, MemorySegment dx) {
    long pixel = 4L * p.channels();
    long row = pixel * p.width();
    long rows = (long) p.batch() * p.height() / 2;
    FloatVector zero = FloatVector.zero(S);
    long out = 0;
    for (long r = 0; r < rows; r++) {
      long end = 2 * r * row + row;
      for (long in = 2 * r * row; in < end; in += 2 * pixel) {
        for (long at = in; at < in + pixel; at += VECTOR_BYTES, out += VECTOR_BYTES) {
          FloatVector best = FloatVector.fromMemorySegment(S, y, out, LE);
          FloatVector g = FloatVector.fromMemorySegment(S, dy, out, LE);
          VectorMask<Float> open = best.compare(VectorOperators.GT, 0f);
          VectorMask<Float> here =
              FloatVector.fromMemorySegment(S, x, at, LE)
                  .compare(VectorOperators.EQ, best)
                  .and(open);
          zero.blend(g, here).intoMemorySegment(dx, at, LE);
          open = open.andNot(here);
          here =
              FloatVector.fromMemorySegment(S, x, at + pixel, LE)
                  .compare(VectorOperators.EQ, best)
                  .and(open);
          zero.blend(g, here).intoMemorySegment(dx, at + pixel, LE);
          open = open.andNot(here);
          here =
              FloatVector.fromMemorySegment(S, x, at + row, LE)
                  .compare(VectorOperators.EQ, best)
                  .and(open);
          zero.blend(g, here).intoMemorySegment(dx, at + row, LE);
          open = open.andNot(here);
          here =
              FloatVector.fromMemorySegment(S, x, at + row + pixel, LE)
                  .compare(VectorOperators.EQ, best)
                  .and(open);
          zero.blend(g, here).intoMemorySegment(dx, at + row + pixel, LE);
        }
      }
    }
  }
}
