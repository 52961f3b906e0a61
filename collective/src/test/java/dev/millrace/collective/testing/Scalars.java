package dev.millrace.collective.testing;

import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** What reductions mean, one element at a time, and vectors of any type to try them on. */
public final class Scalars {
  private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED;
  private static final ValueLayout.OfDouble F64 = ValueLayout.JAVA_DOUBLE_UNALIGNED;

  /** Types a reduction knows. */
  public static final List<DType> TYPES;

  static {
    List<DType> types = new ArrayList<>(DType.NUMERIC);
    types.add(DType.BOOL);
    types.sort(java.util.Comparator.comparingInt(DType::number));
    TYPES = List.copyOf(types);
  }

  private Scalars() {}

  public static boolean isDefined(DType dtype, ReduceOp op) {
    boolean ordered = op == ReduceOp.MIN || op == ReduceOp.MAX;
    return switch (dtype) {
      case BOOL -> ordered;
      case COMPLEX64, COMPLEX128 -> !ordered;
      default -> true;
    };
  }

  /** Values spread over the range of the type, with some special ones among the floats. */
  public static Tensor random(DType dtype, int elements, Random random) {
    Tensor t = Tensor.allocate(dtype, Shape.of(elements));
    MemorySegment d = t.data();
    for (int i = 0; i < elements; i++) {
      switch (dtype) {
        case COMPLEX64 -> {
          d.set(F32, 8L * i, (float) random.nextGaussian());
          d.set(F32, 8L * i + 4, (float) random.nextGaussian());
        }
        case COMPLEX128 -> {
          d.set(F64, 16L * i, random.nextGaussian());
          d.set(F64, 16L * i + 8, random.nextGaussian());
        }
        case BOOL -> t.setLong(i, random.nextInt(2));
        case FLOAT, DOUBLE, HALF, BFLOAT16 -> t.setDouble(i, real(random));
        default -> t.setLong(i, random.nextLong());
      }
    }
    return t;
  }

  private static double real(Random random) {
    return switch (random.nextInt(200)) {
      case 0 -> Double.POSITIVE_INFINITY;
      case 1 -> -0.0;
      case 2 -> 1e-6 * random.nextGaussian();
      default -> random.nextGaussian();
    };
  }

  /** {@code a[i] = a[i] op b[i]} for one element. */
  public static void pair(ReduceOp op, Tensor a, Tensor b, int i) {
    MemorySegment x = a.data();
    MemorySegment y = b.data();
    switch (a.dtype()) {
      case FLOAT, HALF, BFLOAT16 ->
          a.setDouble(i, floats(op, (float) a.doubleAt(i), (float) b.doubleAt(i)));
      case DOUBLE -> a.setDouble(i, doubles(op, a.doubleAt(i), b.doubleAt(i)));
      case COMPLEX64 -> {
        float ar = x.get(F32, 8L * i);
        float ai = x.get(F32, 8L * i + 4);
        float br = y.get(F32, 8L * i);
        float bi = y.get(F32, 8L * i + 4);
        boolean product = op == ReduceOp.PRODUCT;
        x.set(F32, 8L * i, product ? ar * br - ai * bi : ar + br);
        x.set(F32, 8L * i + 4, product ? ar * bi + ai * br : ai + bi);
      }
      case COMPLEX128 -> {
        double ar = x.get(F64, 16L * i);
        double ai = x.get(F64, 16L * i + 8);
        double br = y.get(F64, 16L * i);
        double bi = y.get(F64, 16L * i + 8);
        boolean product = op == ReduceOp.PRODUCT;
        x.set(F64, 16L * i, product ? ar * br - ai * bi : ar + br);
        x.set(F64, 16L * i + 8, product ? ar * bi + ai * br : ai + bi);
      }
      default -> a.setLong(i, longs(a.dtype(), op, a.longAt(i), b.longAt(i)));
    }
  }

  private static float floats(ReduceOp op, float a, float b) {
    return switch (op) {
      case SUM, AVERAGE -> a + b;
      case MIN -> Math.min(a, b);
      case MAX -> Math.max(a, b);
      case PRODUCT -> a * b;
    };
  }

  private static double doubles(ReduceOp op, double a, double b) {
    return switch (op) {
      case SUM, AVERAGE -> a + b;
      case MIN -> Math.min(a, b);
      case MAX -> Math.max(a, b);
      case PRODUCT -> a * b;
    };
  }

  private static long longs(DType dtype, ReduceOp op, long a, long b) {
    boolean less = dtype == DType.UINT64 ? Long.compareUnsigned(a, b) < 0 : a < b;
    return switch (op) {
      case SUM, AVERAGE -> a + b;
      case MIN -> less ? a : b;
      case MAX -> less ? b : a;
      case PRODUCT -> a * b;
    };
  }

  /** Ends a reduction of {@code ranks} values for one element. */
  public static void finish(ReduceOp op, Tensor a, int i, int ranks) {
    if (op != ReduceOp.AVERAGE || ranks == 1) {
      return;
    }
    MemorySegment x = a.data();
    switch (a.dtype()) {
      case FLOAT, HALF, BFLOAT16 -> a.setDouble(i, (float) a.doubleAt(i) / ranks);
      case DOUBLE -> a.setDouble(i, a.doubleAt(i) / ranks);
      case COMPLEX64 -> {
        x.set(F32, 8L * i, x.get(F32, 8L * i) / ranks);
        x.set(F32, 8L * i + 4, x.get(F32, 8L * i + 4) / ranks);
      }
      case COMPLEX128 -> {
        x.set(F64, 16L * i, x.get(F64, 16L * i) / ranks);
        x.set(F64, 16L * i + 8, x.get(F64, 16L * i + 8) / ranks);
      }
      case UINT64 -> a.setLong(i, Long.divideUnsigned(a.longAt(i), ranks));
      default -> a.setLong(i, a.longAt(i) / ranks);
    }
  }

  /** Whether two tensors of one type and shape hold the same bits; any NaN equals any other. */
  public static String difference(Tensor expected, Tensor found) {
    long at = expected.data().mismatch(found.data());
    if (at < 0) {
      return null;
    }
    int size = expected.dtype().bytes();
    for (int i = (int) (at / size); i < expected.elements(); i++) {
      MemorySegment e = expected.data().asSlice((long) i * size, size);
      MemorySegment f = found.data().asSlice((long) i * size, size);
      if (e.mismatch(f) >= 0 && !(isNan(expected, i) && isNan(found, i))) {
        return "element "
            + i
            + " of "
            + expected.elements()
            + ": expected "
            + show(expected, i)
            + ", found "
            + show(found, i);
      }
    }
    return null;
  }

  private static boolean isNan(Tensor t, int i) {
    return t.dtype().isFloating() && Double.isNaN(t.doubleAt(i));
  }

  private static String show(Tensor t, int i) {
    return DType.REAL.contains(t.dtype()) ? Double.toString(t.doubleAt(i)) : "other bits";
  }
}
