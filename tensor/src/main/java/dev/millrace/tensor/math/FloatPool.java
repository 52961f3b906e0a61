package dev.millrace.tensor.math;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** The pooling of floats, a vector of channels at a time. */
final class FloatPool {
  private static final VectorSpecies<Float> S = FloatVector.SPECIES_PREFERRED;
  private static final ByteOrder ORDER = ByteOrder.LITTLE_ENDIAN;

  private FloatPool() {}

  /** Maxima of output rows {@code from} to {@code to}, counted over all images. */
  static void max(Pool pool, MemorySegment input, MemorySegment output, int from, int to) {
    PoolWindow w = new PoolWindow(pool);
    int columns = pool.outputWidth();
    for (int row = from; row < to; row++) {
      for (int x = 0; x < columns; x++) {
        w.moveTo(row, x);
        for (int c = 0; c < pool.channels(); c += S.length()) {
          VectorMask<Float> mask = S.indexInRange(c, pool.channels());
          FloatVector max = FloatVector.broadcast(S, -Float.MAX_VALUE);
          for (int i = w.top; i < w.bottom; i++) {
            for (int j = w.left; j < w.right; j++) {
              FloatVector v = load(input, w.input(i, j) + c, mask);
              max = max.blend(v, v.compare(VectorOperators.GT, max));
            }
          }
          store(max, output, w.output + c, mask);
        }
      }
    }
  }

  /** Averages of output rows {@code from} to {@code to}, counted over all images. */
  static void average(Pool pool, MemorySegment input, MemorySegment output, int from, int to) {
    PoolWindow w = new PoolWindow(pool);
    int columns = pool.outputWidth();
    for (int row = from; row < to; row++) {
      for (int x = 0; x < columns; x++) {
        w.moveTo(row, x);
        float count = Math.max(1, w.count());
        for (int c = 0; c < pool.channels(); c += S.length()) {
          VectorMask<Float> mask = S.indexInRange(c, pool.channels());
          FloatVector sum = FloatVector.zero(S);
          for (int i = w.top; i < w.bottom; i++) {
            for (int j = w.left; j < w.right; j++) {
              sum = sum.add(load(input, w.input(i, j) + c, mask));
            }
          }
          store(sum.div(count), output, w.output + c, mask);
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
        for (int c = 0; c < pool.channels() && w.count() > 0; c += S.length()) {
          VectorMask<Float> mask = S.indexInRange(c, pool.channels());
          FloatVector max = load(input, w.input(w.top, w.left) + c, mask);
          // In each lane, the number of the position with the first maximum.
          FloatVector best = FloatVector.zero(S);
          int position = 0;
          for (int i = w.top; i < w.bottom; i++) {
            for (int j = w.left; j < w.right; j++) {
              FloatVector v = load(input, w.input(i, j) + c, mask);
              VectorMask<Float> greater = v.compare(VectorOperators.GT, max);
              max = max.blend(v, greater);
              best = best.blend(position++, greater);
            }
          }
          FloatVector gradient = load(dOut, w.output + c, mask);
          position = 0;
          for (int i = w.top; i < w.bottom; i++) {
            for (int j = w.left; j < w.right; j++) {
              VectorMask<Float> here = best.compare(VectorOperators.EQ, position++);
              long at = w.input(i, j) + c;
              store(load(dIn, at, mask).add(gradient, here), dIn, at, mask);
            }
          }
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
        float count = Math.max(1, w.count());
        for (int c = 0; c < pool.channels(); c += S.length()) {
          VectorMask<Float> mask = S.indexInRange(c, pool.channels());
          FloatVector share = load(dOut, w.output + c, mask).div(count);
          for (int i = w.top; i < w.bottom; i++) {
            for (int j = w.left; j < w.right; j++) {
              long at = w.input(i, j) + c;
              store(load(dIn, at, mask).add(share), dIn, at, mask);
            }
          }
        }
      }
    }
  }

  private static void clear(Pool pool, MemorySegment dIn, int from, int to) {
    long image = 4L * pool.height() * pool.width() * pool.channels();
    dIn.asSlice(from * image, (to - from) * image).fill((byte) 0);
  }

  private static FloatVector load(MemorySegment s, long index, VectorMask<Float> mask) {
    return FloatVector.fromMemorySegment(S, s, index * 4, ORDER, mask);
  }

  private static void store(FloatVector v, MemorySegment s, long index, VectorMask<Float> mask) {
    v.intoMemorySegment(s, index * 4, ORDER, mask);
  }
}
