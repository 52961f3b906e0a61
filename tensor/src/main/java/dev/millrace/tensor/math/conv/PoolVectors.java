package dev.millrace.tensor.math.conv;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * What {@link ImagePool} does at one place of the window, for floats and with the Vector API: a
 * vector of channels at a time. The methods that give a number give the first channel that is left.
 */
final class PoolVectors {
  private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
  static final int L = S.length();
  private static final ByteOrder LE = ByteOrder.LITTLE_ENDIAN;

  private PoolVectors() {}

  /** The larger ones; NaN is none if it comes second. */
  static FloatVector larger(FloatVector a, FloatVector b) {
    return a.blend(b, b.compare(VectorOperators.GT, a));
  }

  static int max(
      ImagePool pool, MemorySegment x, MemorySegment y, int image, ImagePool.Place p, long out) {
    int c = 0;
    for (; c <= pool.channels() - L; c += L) {
      FloatVector m = FloatVector.broadcast(S, -Float.MAX_VALUE);
      for (int i = p.firstRow(); i < p.lastRow(); i++) {
        long at = 4 * (pool.index(image, i, p.firstColumn()) + c);
        for (int j = p.firstColumn(); j < p.lastColumn(); j++, at += 4L * pool.channels()) {
          m = larger(m, FloatVector.fromMemorySegment(S, x, at, LE));
        }
      }
      m.intoMemorySegment(y, 4 * (out + c), LE);
    }
    return c;
  }

  /**
   * Whether no window of an image begins with NaN or an infinity. If so the first element that
   * equals the largest is the one {@link ImagePool} finds.
   */
  static boolean windowsBeginWithNumbers(ImagePool pool, MemorySegment x, int image) {
    // Zero times a number is zero, but NaN times NaN or an infinity.
    FloatVector sum = FloatVector.zero(S);
    for (int i = 0; i < pool.outputHeight(); i++) {
      int row = Math.max(0, i * pool.rows().stride() - pool.rows().before());
      for (int j = 0; j < pool.outputWidth(); j++) {
        int column = Math.max(0, j * pool.columns().stride() - pool.columns().before());
        long at = 4 * pool.index(image, row, column);
        for (long end = at + 4L * pool.channels(); at < end; at += S.vectorByteSize()) {
          sum = FloatVector.fromMemorySegment(S, x, at, LE).mul(0f).add(sum);
        }
      }
    }
    return sum.compare(VectorOperators.EQ, 0f).allTrue();
  }

  static void maxGradient(
      ImagePool pool,
      MemorySegment[] s,
      boolean ofRelu,
      boolean tiled,
      int image,
      ImagePool.Place p,
      long out) {
    MemorySegment x = s[0];
    MemorySegment dx = s[3];
    for (int c = 0; c < pool.channels(); c += L) {
      FloatVector best = FloatVector.fromMemorySegment(S, s[1], 4 * (out + c), LE);
      FloatVector g = FloatVector.fromMemorySegment(S, s[2], 4 * (out + c), LE);
      if (ofRelu) {
        g = FloatVector.zero(S).blend(g, best.compare(VectorOperators.GT, 0f));
      }
      VectorMask<Float> open = S.maskAll(true);
      for (int i = p.firstRow(); i < p.lastRow(); i++) {
        long at = 4 * (pool.index(image, i, p.firstColumn()) + c);
        for (int j = p.firstColumn(); j < p.lastColumn(); j++, at += 4L * pool.channels()) {
          VectorMask<Float> here =
              FloatVector.fromMemorySegment(S, x, at, LE)
                  .compare(VectorOperators.EQ, best)
                  .and(open);
          FloatVector before =
              tiled ? FloatVector.zero(S) : FloatVector.fromMemorySegment(S, dx, at, LE);
          before.add(g, here).intoMemorySegment(dx, at, LE);
          open = open.andNot(here);
        }
      }
    }
  }

  static int mean(
      ImagePool pool, MemorySegment x, MemorySegment y, int image, ImagePool.Place p, long out) {
    int c = 0;
    for (; c <= pool.channels() - L; c += L) {
      FloatVector sum = FloatVector.zero(S);
      for (int i = p.firstRow(); i < p.lastRow(); i++) {
        long at = 4 * (pool.index(image, i, p.firstColumn()) + c);
        for (int j = p.firstColumn(); j < p.lastColumn(); j++, at += 4L * pool.channels()) {
          sum = sum.add(FloatVector.fromMemorySegment(S, x, at, LE));
        }
      }
      sum.div(p.count()).intoMemorySegment(y, 4 * (out + c), LE);
    }
    return c;
  }

  static int meanGradient(
      ImagePool pool, MemorySegment dy, MemorySegment dx, int image, ImagePool.Place p, long out) {
    int c = 0;
    for (; c <= pool.channels() - L; c += L) {
      FloatVector share = FloatVector.fromMemorySegment(S, dy, 4 * (out + c), LE).div(p.count());
      for (int i = p.firstRow(); i < p.lastRow(); i++) {
        long at = 4 * (pool.index(image, i, p.firstColumn()) + c);
        for (int j = p.firstColumn(); j < p.lastColumn(); j++, at += 4L * pool.channels()) {
          FloatVector.fromMemorySegment(S, dx, at, LE).add(share).intoMemorySegment(dx, at, LE);
        }
      }
    }
    return c;
  }
}
