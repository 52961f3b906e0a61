package dev.millrace.tensor.math.elementwise;

import dev.millrace.tensor.math.Specialized;
import dev.millrace.tensor.math.lanes.LaneType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.util.function.DoubleBinaryOperator;
import java.util.function.LongBinaryOperator;

/**
 * The loop, one element at a time, for functions the Vector API does not have: integer division,
 * remainders, powers of integers. A template, see {@link Specialized}.
 */
final class ScalarLoop implements ElementLoop {
  /** What a copy is made for; {@code binary} is false where there is no second operand. */
  record Constants(
      LaneType type,
      int singles,
      boolean binary,
      DoubleBinaryOperator real,
      LongBinaryOperator whole) {}

  private static final Constants C = Specialized.constants(MethodHandles.lookup(), Constants.class);
  private static final LaneType TYPE = C.type();
  private static final DoubleBinaryOperator REAL = C.real();
  private static final LongBinaryOperator WHOLE = C.whole();
  private static final int Y = C.binary() ? 1 : 0;
  private static final int Z = C.binary() ? 2 : 1;
  private static final long X_STEP = (C.singles() & 1) != 0 ? 0 : TYPE.bytes();
  private static final long Y_STEP = (C.singles() >> Y & 1) != 0 ? 0 : TYPE.bytes();

  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final ValueLayout.OfDouble F64 = ValueLayout.JAVA_DOUBLE_UNALIGNED;
  private static final ValueLayout.OfInt I32 = ValueLayout.JAVA_INT_UNALIGNED;
  private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;

  @Override
  public void run(
      MemorySegment[] memory, long[] at, long[] step, long rows, long n, double[] parameters) {
    for (long r = 0; r < rows; r++) {
      row(
          memory[0],
          at[0] + r * step[0],
          memory[Y],
          at[Y] + r * step[Y],
          memory[Z],
          at[Z] + r * step[Z],
          n);
    }
  }

  private static void row(
      MemorySegment x, long xAt, MemorySegment y, long yAt, MemorySegment z, long zAt, long n) {
    for (long i = 0; i < n; i++) {
      long xi = xAt + i * X_STEP;
      long yi = yAt + i * Y_STEP;
      long zi = zAt + i * TYPE.bytes();
      if (TYPE == LaneType.FLOAT) {
        z.set(F32, zi, (float) REAL.applyAsDouble(x.get(F32, xi), y.get(F32, yi)));
      } else if (TYPE == LaneType.DOUBLE) {
        z.set(F64, zi, REAL.applyAsDouble(x.get(F64, xi), y.get(F64, yi)));
      } else if (TYPE == LaneType.INT) {
        z.set(I32, zi, (int) WHOLE.applyAsLong(x.get(I32, xi), y.get(I32, yi)));
      } else {
        z.set(I64, zi, WHOLE.applyAsLong(x.get(I64, xi), y.get(I64, yi)));
      }
    }
  }
}
