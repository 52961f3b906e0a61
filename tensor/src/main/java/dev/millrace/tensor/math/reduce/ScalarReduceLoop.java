package dev.millrace.tensor.math.reduce;

import dev.millrace.tensor.math.Specialized;
import dev.millrace.tensor.math.lanes.LaneType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;

/**
 * What {@link ReduceLoop} does, one element at a time, for a JVM without the Vector API. A
 * template, see {@link Specialized}. Rows have four results on the way, which do not wait for each
 * other.
 */
final class ScalarReduceLoop implements Reduce.Loop {
  private static final Reduce.Constants C =
      Specialized.constants(MethodHandles.lookup(), Reduce.Constants.class);
  private static final LaneType TYPE = C.type();
  private static final Fold FOLD = C.fold();
  private static final boolean UNSIGNED = C.unsigned();
  private static final boolean SQUARES = C.squares();
  private static final boolean SUM = FOLD == Fold.SUM || FOLD == Fold.MEAN;
  private static final long STEP = TYPE.bytes();
  private static final float FLOAT_IDENTITY = C.identity().floatValue();
  private static final double REAL_IDENTITY = C.identity().doubleValue();
  private static final long WHOLE_IDENTITY = C.identity().longValue();

  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final ValueLayout.OfDouble F64 = ValueLayout.JAVA_DOUBLE_UNALIGNED;
  private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;
  private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;
  private static final ValueLayout.OfByte I8 = ValueLayout.JAVA_BYTE;

  @Override
  public void rows(
      MemorySegment x, long at, long step, long rows, long n, MemorySegment y, long to) {
    for (long r = 0; r < rows; r++) {
      long from = at + r * step;
      long out = to + r * STEP;
      if (TYPE == LaneType.FLOAT) {
        y.set(F32, out, (float) doubles(x, from, n));
      } else if (TYPE == LaneType.DOUBLE) {
        y.set(F64, out, doubles(x, from, n));
      } else {
        setWhole(y, out, wholes(x, from, n));
      }
    }
  }

  private static double doubles(MemorySegment x, long at, long n) {
    double a = REAL_IDENTITY;
    double b = a;
    double c = a;
    double d = a;
    long i = 0;
    for (; i <= n - 4; i += 4) {
      long p = at + i * STEP;
      a = both(a, twice(x, p));
      b = both(b, twice(x, p + STEP));
      c = both(c, twice(x, p + 2 * STEP));
      d = both(d, twice(x, p + 3 * STEP));
    }
    for (; i < n; i++) {
      a = both(a, twice(x, at + i * STEP));
    }
    return both(both(a, b), both(c, d));
  }

  private static long wholes(MemorySegment x, long at, long n) {
    long a = WHOLE_IDENTITY;
    for (long i = 0; i < n; i++) {
      a = both(a, whole(x, at + i * STEP));
    }
    return a;
  }

  @Override
  public void columns(
      MemorySegment x, long at, long step, long rows, long n, MemorySegment y, long to) {
    for (long i = 0; i < n; i++) {
      if (TYPE == LaneType.FLOAT) {
        y.set(F32, to + i * STEP, FLOAT_IDENTITY);
      } else if (TYPE == LaneType.DOUBLE) {
        y.set(F64, to + i * STEP, REAL_IDENTITY);
      } else {
        setWhole(y, to + i * STEP, WHOLE_IDENTITY);
      }
    }
    for (long r = 0; r < rows; r++) {
      addRow(x, at + r * step, n, y, to);
    }
  }

  private static void addRow(MemorySegment x, long at, long n, MemorySegment y, long to) {
    for (long i = 0; i < n; i++) {
      long p = at + i * STEP;
      long q = to + i * STEP;
      if (TYPE == LaneType.FLOAT) {
        y.set(F32, q, both(y.get(F32, q), single(x, p)));
      } else if (TYPE == LaneType.DOUBLE) {
        y.set(F64, q, both(y.get(F64, q), twice(x, p)));
      } else {
        setWhole(y, q, both(stored(y, q), whole(x, p)));
      }
    }
  }

  private static float both(float x, float y) {
    if (SUM) {
      return x + y;
    }
    if (FOLD == Fold.PROD) {
      return x * y;
    }
    return FOLD == Fold.MAX ? Math.max(x, y) : Math.min(x, y);
  }

  private static double both(double x, double y) {
    if (SUM) {
      return x + y;
    }
    if (FOLD == Fold.PROD) {
      return x * y;
    }
    return FOLD == Fold.MAX ? Math.max(x, y) : Math.min(x, y);
  }

  private static long both(long x, long y) {
    if (SUM) {
      return x + y;
    }
    if (UNSIGNED && (FOLD == Fold.MAX || FOLD == Fold.MIN)) {
      return Long.compareUnsigned(x, y) < 0 == (FOLD == Fold.MIN) ? x : y;
    }
    return FOLD.of(x, y);
  }

  private static float single(MemorySegment x, long at) {
    float v = x.get(F32, at);
    return SQUARES ? v * v : v;
  }

  private static double twice(MemorySegment x, long at) {
    double v = TYPE == LaneType.FLOAT ? x.get(F32, at) : x.get(F64, at);
    return SQUARES ? v * v : v;
  }

  private static long whole(MemorySegment x, long at) {
    long v = stored(x, at);
    return SQUARES ? v * v : v;
  }

  private static long stored(MemorySegment x, long at) {
    if (TYPE == LaneType.INT) {
      return x.get(I32, at);
    }
    return TYPE == LaneType.LONG ? x.get(I64, at) : x.get(I8, at);
  }

  private static void setWhole(MemorySegment y, long at, long v) {
    if (TYPE == LaneType.INT) {
      y.set(I32, at, (int) v);
    } else if (TYPE == LaneType.LONG) {
      y.set(I64, at, v);
    } else {
      y.set(I8, at, (byte) v);
    }
  }
}
