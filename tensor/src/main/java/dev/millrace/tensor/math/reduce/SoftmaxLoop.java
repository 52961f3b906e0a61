package dev.millrace.tensor.math.reduce;

import dev.millrace.tensor.math.Specialized;
import dev.millrace.tensor.math.lanes.LaneType;
import dev.millrace.tensor.math.lanes.LaneVectors;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.nio.ByteOrder;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShuffle;
import jdk.incubator.vector.VectorSpecies;

/**
 * The rows of {@link Softmax}. A template, see {@link Specialized}.
 *
 * <p>Exponentials are the expensive part and rows are often short, so they are taken over a block
 * of whole rows at once rather than row by row. Each pass over a row is a method of its own that
 * takes and returns numbers, not vectors: all passes together are more than the compiler inlines,
 * and a vector that crosses a call goes through the heap. For the same reason what is called in a
 * loop are methods of the vector just loaded, whose class the compiler knows, with the one that
 * goes round the loop as their argument.
 */
final class SoftmaxLoop implements Softmax.Loop {
  private static final LaneType TYPE =
      Specialized.constants(MethodHandles.lookup(), LaneType.class);
  private static final LaneVectors VECTORS = LaneVectors.of(TYPE);
  private static final VectorSpecies<Object> S = VECTORS.anySpecies();
  private static final int LANES = S.length();
  private static final long STEP = S.vectorByteSize();
  private static final ByteOrder LE = ByteOrder.LITTLE_ENDIAN;
  private static final VectorShuffle<Object> BY_8 = VectorShuffle.iota(S, 8 % LANES, 1, true);
  private static final VectorShuffle<Object> BY_4 = VectorShuffle.iota(S, 4 % LANES, 1, true);
  private static final VectorShuffle<Object> BY_2 = VectorShuffle.iota(S, 2 % LANES, 1, true);
  private static final VectorShuffle<Object> BY_1 = VectorShuffle.iota(S, 1 % LANES, 1, true);

  @Override
  public void softmax(MemorySegment x, long at, MemorySegment y, long to, long rows, long n) {
    long row = n << TYPE.shift;
    for (long r = 0; r < rows; r++) {
      shift(x, at + r * row, y, to + r * row, n, max(x, at + r * row, n), 0);
    }
    exponentials(y, to, rows * n);
    for (long r = 0; r < rows; r++) {
      scale(y, to + r * row, n, 1 / sum(y, to + r * row, n));
    }
  }

  @Override
  public void logSoftmax(MemorySegment x, long at, MemorySegment y, long to, long rows, long n) {
    for (long r = 0; r < rows; r++, at += n << TYPE.shift, to += n << TYPE.shift) {
      double max = max(x, at, n);
      shift(x, at, y, to, n, max, Math.log(sumOfExponentials(x, at, n, max)));
    }
  }

  /** The largest element of a row is kept where its loss will be. */
  @Override
  public void crossEntropy(
      MemorySegment x,
      MemorySegment labels,
      MemorySegment loss,
      MemorySegment backprop,
      long firstRow,
      long rows,
      long n) {
    for (long r = firstRow; r < firstRow + rows; r++) {
      long at = r * n << TYPE.shift;
      double max = max(x, at, n);
      set(loss, r << TYPE.shift, max);
      shift(x, at, backprop, at, n, max, 0);
    }
    exponentials(backprop, firstRow * n << TYPE.shift, rows * n);
    for (long r = firstRow; r < firstRow + rows; r++) {
      long at = r * n << TYPE.shift;
      double sum = sum(backprop, at, n);
      double max = get(loss, r << TYPE.shift);
      set(loss, r << TYPE.shift, entropy(x, labels, at, n, max, Math.log(sum)));
      scaleLess(backprop, at, n, 1 / sum, labels);
    }
  }

  @Override
  public void sparseCrossEntropy(
      MemorySegment x,
      long[] labels,
      MemorySegment loss,
      MemorySegment backprop,
      long firstRow,
      long n) {
    for (int i = 0; i < labels.length; i++) {
      long at = (firstRow + i) * n << TYPE.shift;
      shift(x, at, backprop, at, n, max(x, at, n), 0);
      set(loss, firstRow + i << TYPE.shift, get(backprop, at + (labels[i] << TYPE.shift)));
    }
    exponentials(backprop, firstRow * n << TYPE.shift, labels.length * n);
    for (int i = 0; i < labels.length; i++) {
      long at = (firstRow + i) * n << TYPE.shift;
      double sum = sum(backprop, at, n);
      scale(backprop, at, n, 1 / sum);
      long place = at + (labels[i] << TYPE.shift);
      set(backprop, place, get(backprop, place) - 1);
      long lossAt = firstRow + i << TYPE.shift;
      set(loss, lossAt, Math.log(sum) - get(loss, lossAt));
    }
  }

  /** The largest of n elements. NaN need not come out: it makes the sum of the row NaN anyway. */
  private static double max(MemorySegment x, long at, long n) {
    Vector<Object> a = all(Double.NEGATIVE_INFINITY);
    long end = at + ((n & -LANES) << TYPE.shift);
    long i = at;
    for (; i < end; i += STEP) {
      a = larger(a, S.fromMemorySegment(x, i, LE));
    }
    if ((n & (LANES - 1)) != 0) {
      VectorMask<Object> mask = S.indexInRange(0, n & (LANES - 1));
      a = larger(a, all(Double.NEGATIVE_INFINITY).blend(load(x, i, mask), mask));
    }
    if (LANES > 8) {
      a = larger(a, a.rearrange(BY_8));
    }
    if (LANES > 4) {
      a = larger(a, a.rearrange(BY_4));
    }
    if (LANES > 2) {
      a = larger(a, a.rearrange(BY_2));
    }
    return first(larger(a, a.rearrange(BY_1)));
  }

  private static Vector<Object> larger(Vector<Object> a, Vector<Object> b) {
    return b.blend(a, b.compare(VectorOperators.LT, a));
  }

  /** {@code y = (x - a) - b}: in this order, so that a large a does not swallow b. */
  private static void shift(
      MemorySegment x, long at, MemorySegment y, long to, long n, double a, double b) {
    Vector<Object> less = all(a);
    Vector<Object> andLess = all(b);
    long i = 0;
    for (long end = (n & -LANES) << TYPE.shift; i < end; i += STEP) {
      S.fromMemorySegment(x, at + i, LE).sub(less).sub(andLess).intoMemorySegment(y, to + i, LE);
    }
    if ((n & (LANES - 1)) != 0) {
      VectorMask<Object> mask = S.indexInRange(0, n & (LANES - 1));
      load(x, at + i, mask).sub(less).sub(andLess).intoMemorySegment(y, to + i, LE, mask);
    }
  }

  /** {@code y = e^y}. */
  private static void exponentials(MemorySegment y, long at, long n) {
    long i = at;
    for (long end = at + ((n & -LANES) << TYPE.shift); i < end; i += STEP) {
      S.fromMemorySegment(y, i, LE).lanewise(VectorOperators.EXP).intoMemorySegment(y, i, LE);
    }
    if ((n & (LANES - 1)) != 0) {
      VectorMask<Object> mask = S.indexInRange(0, n & (LANES - 1));
      load(y, i, mask).lanewise(VectorOperators.EXP).intoMemorySegment(y, i, LE, mask);
    }
  }

  private static double sumOfExponentials(MemorySegment x, long at, long n, double max) {
    Vector<Object> less = all(max);
    Vector<Object> sum = S.broadcast(0);
    long i = at;
    for (long end = at + ((n & -LANES) << TYPE.shift); i < end; i += STEP) {
      sum = S.fromMemorySegment(x, i, LE).sub(less).lanewise(VectorOperators.EXP).add(sum);
    }
    if ((n & (LANES - 1)) != 0) {
      VectorMask<Object> mask = S.indexInRange(0, n & (LANES - 1));
      Vector<Object> e = load(x, i, mask).sub(less).lanewise(VectorOperators.EXP);
      sum = S.broadcast(0).blend(e, mask).add(sum);
    }
    return total(sum);
  }

  private static double sum(MemorySegment x, long at, long n) {
    Vector<Object> sum = S.broadcast(0);
    long i = at;
    for (long end = at + ((n & -LANES) << TYPE.shift); i < end; i += STEP) {
      sum = S.fromMemorySegment(x, i, LE).add(sum);
    }
    if ((n & (LANES - 1)) != 0) {
      sum = load(x, i, S.indexInRange(0, n & (LANES - 1))).add(sum);
    }
    return total(sum);
  }

  /**
   * The sum of l * (log - (x - max)) over the labels l of a row. What is beyond its end counts
   * nothing: log is finite there, or all of the row is NaN.
   */
  private static double entropy(
      MemorySegment x, MemorySegment labels, long at, long n, double max, double log) {
    Vector<Object> less = all(max);
    Vector<Object> andLess = all(log);
    Vector<Object> sum = S.broadcast(0);
    long i = at;
    for (long end = at + ((n & -LANES) << TYPE.shift); i < end; i += STEP) {
      Vector<Object> l = S.fromMemorySegment(labels, i, LE);
      sum = S.fromMemorySegment(x, i, LE).sub(less).sub(andLess).mul(l).add(sum);
    }
    if ((n & (LANES - 1)) != 0) {
      VectorMask<Object> mask = S.indexInRange(0, n & (LANES - 1));
      sum = load(x, i, mask).sub(less).sub(andLess).mul(load(labels, i, mask)).add(sum);
    }
    return 0 - total(sum);
  }

  private static void scale(MemorySegment y, long at, long n, double factor) {
    Vector<Object> by = all(factor);
    long i = at;
    for (long end = at + ((n & -LANES) << TYPE.shift); i < end; i += STEP) {
      S.fromMemorySegment(y, i, LE).mul(by).intoMemorySegment(y, i, LE);
    }
    if ((n & (LANES - 1)) != 0) {
      VectorMask<Object> mask = S.indexInRange(0, n & (LANES - 1));
      load(y, i, mask).mul(by).intoMemorySegment(y, i, LE, mask);
    }
  }

  /** {@code y = y * factor - labels}. */
  private static void scaleLess(
      MemorySegment y, long at, long n, double factor, MemorySegment labels) {
    Vector<Object> by = all(factor);
    long i = at;
    for (long end = at + ((n & -LANES) << TYPE.shift); i < end; i += STEP) {
      S.fromMemorySegment(y, i, LE)
          .mul(by)
          .sub(S.fromMemorySegment(labels, i, LE))
          .intoMemorySegment(y, i, LE);
    }
    if ((n & (LANES - 1)) != 0) {
      VectorMask<Object> mask = S.indexInRange(0, n & (LANES - 1));
      load(y, i, mask).mul(by).sub(load(labels, i, mask)).intoMemorySegment(y, i, LE, mask);
    }
  }

  /** The sum of all lanes, in an order that does not change from call to call. */
  private static double total(Vector<Object> v) {
    if (LANES > 8) {
      v = v.rearrange(BY_8).add(v);
    }
    if (LANES > 4) {
      v = v.rearrange(BY_4).add(v);
    }
    if (LANES > 2) {
      v = v.rearrange(BY_2).add(v);
    }
    return first(v.rearrange(BY_1).add(v));
  }

  @SuppressWarnings("unchecked")
  private static Vector<Object> all(double v) {
    return (Vector<Object>) VECTORS.broadcast(v, 0);
  }

  @SuppressWarnings("unchecked")
  private static Vector<Object> load(MemorySegment x, long at, VectorMask<Object> mask) {
    return (Vector<Object>) VECTORS.load(x, at, mask);
  }

  private static double first(Vector<Object> v) {
    return TYPE == LaneType.FLOAT
        ? ((FloatVector) (Object) v).lane(0)
        : ((DoubleVector) (Object) v).lane(0);
  }

  private static double get(MemorySegment x, long at) {
    return TYPE == LaneType.FLOAT
        ? x.get(ValueLayout.JAVA_FLOAT_UNALIGNED, at)
        : x.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, at);
  }

  private static void set(MemorySegment y, long at, double v) {
    if (TYPE == LaneType.FLOAT) {
      y.set(ValueLayout.JAVA_FLOAT_UNALIGNED, at, (float) v);
    } else {
      y.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, at, v);
    }
  }
}
