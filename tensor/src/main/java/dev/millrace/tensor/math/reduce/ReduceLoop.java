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
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShuffle;
import jdk.incubator.vector.VectorSpecies;

/**
 * Combines the elements of short rows, or the rows of a short matrix. A template, see {@link
 * Specialized}. The order in which elements are combined depends on the number of lanes and nothing
 * else, so the same input gives the same bits every time.
 */
final class ReduceLoop implements Reduce.Loop {
  private static final Reduce.Constants C =
      Specialized.constants(MethodHandles.lookup(), Reduce.Constants.class);
  private static final LaneType TYPE = C.type();
  private static final LaneVectors VECTORS = LaneVectors.of(TYPE);
  private static final VectorOperators.Associative OP = operator(C.fold(), C.unsigned());
  private static final boolean SQUARES = C.squares();

  /** Whether it is an extreme of unsigned numbers, of 64 bits: narrower ones are signed as long. */
  private static final boolean UNSIGNED = OP == VectorOperators.UMAX || OP == VectorOperators.UMIN;

  private static final VectorSpecies<Object> S = VECTORS.anySpecies();
  private static final double REAL_IDENTITY = C.identity().doubleValue();
  private static final long WHOLE_IDENTITY = C.identity().longValue();
  private static final int LANES = S.length();
  private static final long STEP = S.vectorByteSize();
  private static final ByteOrder LE = ByteOrder.LITTLE_ENDIAN;
  private static final VectorShuffle<Object> BY_8 = VectorShuffle.iota(S, 8 % LANES, 1, true);
  private static final VectorShuffle<Object> BY_4 = VectorShuffle.iota(S, 4 % LANES, 1, true);
  private static final VectorShuffle<Object> BY_2 = VectorShuffle.iota(S, 2 % LANES, 1, true);
  private static final VectorShuffle<Object> BY_1 = VectorShuffle.iota(S, 1 % LANES, 1, true);

  private static VectorOperators.Associative operator(Fold fold, boolean unsigned) {
    return switch (fold) {
      case SUM, MEAN -> VectorOperators.ADD;
      case PROD -> VectorOperators.MUL;
      case MAX -> unsigned ? VectorOperators.UMAX : VectorOperators.MAX;
      case MIN -> unsigned ? VectorOperators.UMIN : VectorOperators.MIN;
      case ALL -> VectorOperators.AND;
      case ANY -> VectorOperators.OR;
    };
  }

  @Override
  public void rows(
      MemorySegment x, long at, long step, long rows, long n, MemorySegment y, long to) {
    for (long r = 0; r < rows; r++) {
      storeOne(row(x, at + r * step, n), y, to + r * TYPE.bytes());
    }
  }

  private static Vector<Object> row(MemorySegment x, long at, long n) {
    long i = at;
    long end = at + ((n & -LANES) << TYPE.shift);
    Vector<Object> a = identity();
    if (n >= 4L * LANES) {
      Vector<Object> b = a;
      Vector<Object> c = a;
      Vector<Object> d = a;
      for (; i <= end - 4 * STEP; i += 4 * STEP) {
        a = both(a, load(x, i));
        b = both(b, load(x, i + STEP));
        c = both(c, load(x, i + 2 * STEP));
        d = both(d, load(x, i + 3 * STEP));
      }
      a = both(both(a, b), both(c, d));
    }
    for (; i < end; i += STEP) {
      a = both(a, load(x, i));
    }
    long left = n & (LANES - 1);
    return left == 0 ? a : both(a, load(x, i, S.indexInRange(0, left)));
  }

  @Override
  public void columns(
      MemorySegment x, long at, long step, long rows, long n, MemorySegment y, long to) {
    long i = 0;
    long end = (n & -LANES) << TYPE.shift;
    for (; i <= end - 4 * STEP; i += 4 * STEP) {
      Vector<Object> a = identity();
      Vector<Object> b = a;
      Vector<Object> c = a;
      Vector<Object> d = a;
      long from = at + i;
      for (long r = 0; r < rows; r++, from += step) {
        a = both(a, load(x, from));
        b = both(b, load(x, from + STEP));
        c = both(c, load(x, from + 2 * STEP));
        d = both(d, load(x, from + 3 * STEP));
      }
      a.intoMemorySegment(y, to + i, LE);
      b.intoMemorySegment(y, to + i + STEP, LE);
      c.intoMemorySegment(y, to + i + 2 * STEP, LE);
      d.intoMemorySegment(y, to + i + 3 * STEP, LE);
    }
    for (; i < end; i += STEP) {
      Vector<Object> a = identity();
      for (long r = 0; r < rows; r++) {
        a = both(a, load(x, at + i + r * step));
      }
      a.intoMemorySegment(y, to + i, LE);
    }
    long left = n & (LANES - 1);
    if (left > 0) {
      VectorMask<Object> mask = S.indexInRange(0, left);
      Vector<Object> a = identity();
      for (long r = 0; r < rows; r++) {
        a = both(a, load(x, at + i + r * step, mask));
      }
      a.intoMemorySegment(y, to + i, LE, mask);
    }
  }

  /** Not a constant: a vector that starts as one is kept on the heap throughout the loop. */
  @SuppressWarnings("unchecked")
  private static Vector<Object> identity() {
    return (Vector<Object>) VECTORS.broadcast(REAL_IDENTITY, WHOLE_IDENTITY);
  }

  /** Calls b, which has just been loaded: its class is known, while a comes round the loop. */
  private static Vector<Object> both(Vector<Object> a, Vector<Object> b) {
    return b.lanewise(OP, a);
  }

  private static Vector<Object> load(MemorySegment x, long at) {
    Vector<Object> v = S.fromMemorySegment(x, at, LE);
    return SQUARES ? v.mul(v) : v;
  }

  @SuppressWarnings("unchecked")
  private static Vector<Object> load(MemorySegment x, long at, VectorMask<Object> mask) {
    Vector<Object> v = (Vector<Object>) VECTORS.load(x, at, mask);
    return identity().blend(SQUARES ? v.mul(v) : v, mask);
  }

  /**
   * Writes all lanes combined. Floating lanes are combined in halves, as the Vector API leaves the
   * order of its own reduction open; unsigned ones too, as it starts from the signed extremes.
   */
  private static void storeOne(Vector<Object> v, MemorySegment y, long to) {
    if (TYPE.isFloating() || UNSIGNED) {
      if (LANES > 8) {
        v = both(v, v.rearrange(BY_8));
      }
      if (LANES > 4) {
        v = both(v, v.rearrange(BY_4));
      }
      if (LANES > 2) {
        v = both(v, v.rearrange(BY_2));
      }
      v = both(v, v.rearrange(BY_1));
    }
    if (TYPE == LaneType.FLOAT) {
      y.set(ValueLayout.JAVA_FLOAT_UNALIGNED, to, ((FloatVector) (Object) v).lane(0));
    } else if (TYPE == LaneType.DOUBLE) {
      y.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, to, ((DoubleVector) (Object) v).lane(0));
    } else if (TYPE == LaneType.INT) {
      y.set(ValueLayout.JAVA_INT_UNALIGNED, to, (int) v.reduceLanesToLong(OP));
    } else if (TYPE == LaneType.LONG) {
      long whole = UNSIGNED ? ((LongVector) (Object) v).lane(0) : v.reduceLanesToLong(OP);
      y.set(ValueLayout.JAVA_LONG_UNALIGNED, to, whole);
    } else {
      y.set(ValueLayout.JAVA_BYTE, to, (byte) v.reduceLanesToLong(OP));
    }
  }
}
