package dev.millrace.ops.array;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/** The numbers from {@code start} up to, without, {@code limit}, {@code delta} apart. */
public final class Range {
  public static final Op OP =
      Op.define("Range")
          .attr(
              "Tidx: {bfloat16, half, float, double, int8, int16, int32, int64, uint16, uint32,"
                  + " uint64} = int32")
          .input("start: Tidx")
          .input("limit: Tidx")
          .input("delta: Tidx")
          .output("output: Tidx")
          .shape(Range::infer)
          .kernel(Range::compute)
          .noGradient("how many numbers there are is not differentiable")
          .build();

  private Range() {}

  /**
   * The numbers from {@code start} in steps of {@code delta} up to {@code limit}, which is not
   * included.
   */
  public static Output of(Scope scope, Output start, Output limit, Output delta) {
    return scope.add(OP, start, limit, delta).output();
  }

  /** 0, 1, ... up to, without, the int32 scalar {@code limit}. */
  public static Output of(Scope scope, Output limit) {
    return of(scope, Const.of(scope, 0), limit, Const.of(scope, 1));
  }

  private static List<Shape> infer(ShapeContext c) {
    for (int i = 0; i < 3; i++) {
      c.inputOfRank(i, 0);
    }
    Tensor start = c.constant(0);
    Tensor limit = c.constant(1);
    Tensor delta = c.constant(2);
    boolean known = start != null && limit != null && delta != null;
    return List.of(Shape.of(known ? size(start, limit, delta) : Shape.UNKNOWN));
  }

  private static long size(Tensor start, Tensor limit, Tensor delta) {
    for (Tensor t : List.of(start, limit, delta)) {
      if (!t.shape().isScalar()) {
        throw MillraceException.invalid(
            "start, limit and delta must be scalars, not of shape %s", t.shape());
      }
    }
    if (start.dtype().isFloating()) {
      double d = delta.doubleAt(0);
      checkDirection(d > 0, d == 0, start, limit, start.doubleAt(0) <= limit.doubleAt(0));
      double n = Math.ceil(Math.abs((limit.doubleAt(0) - start.doubleAt(0)) / d));
      if (!(n < 1L << 60)) {
        throw MillraceException.invalid("the range has no end: %s numbers.", n);
      }
      return (long) n;
    }
    long s = start.longAt(0);
    long l = limit.longAt(0);
    long d = delta.longAt(0);
    checkDirection(d > 0, d == 0, start, limit, s <= l);
    if (s == l) {
      return 0;
    }
    return d > 0 ? (Math.subtractExact(l, s) - 1) / d + 1 : (Math.subtractExact(s, l) - 1) / -d + 1;
  }

  private static void checkDirection(
      boolean up, boolean stuck, Tensor start, Tensor limit, boolean ordered) {
    if (stuck) {
      throw MillraceException.invalid("Requires delta != 0: 0");
    }
    boolean equal = start.doubleAt(0) == limit.doubleAt(0);
    if (!equal && up != ordered) {
      throw MillraceException.invalid(
          "Requires start %s limit when delta %s 0: %s/%s",
          up ? "<=" : ">=", up ? ">" : "<", start, limit);
    }
  }

  private static void compute(KernelContext c) {
    Tensor start = c.input(0);
    Tensor delta = c.input(2);
    long n = size(start, c.input(1), delta);
    Tensor y = c.allocate(0, Shape.of(n));
    MemorySegment m = y.data();
    double from = start.doubleAt(0);
    double by = delta.doubleAt(0);
    long s = start.dtype().isFloating() ? 0 : start.longAt(0);
    long d = start.dtype().isFloating() ? 0 : delta.longAt(0);
    for (long i = 0; i < n; i++) {
      switch (y.dtype()) {
        case INT32 -> m.setAtIndex(ValueLayout.JAVA_INT_UNALIGNED, i, (int) (s + i * d));
        case INT64 -> m.setAtIndex(ValueLayout.JAVA_LONG_UNALIGNED, i, s + i * d);
        case FLOAT, DOUBLE, HALF, BFLOAT16 -> y.setDouble(i, from + i * by);
        default -> y.setLong(i, s + i * d);
      }
    }
  }

  /** The numbers of all dimensions of {@code x}. */
  public static Output ofDimensions(Scope scope, Output x) {
    if (!x.shape().hasRank()) {
      return of(scope, ShapeOf.rank(scope, x));
    }
    int[] axes = new int[x.shape().rank()];
    for (int i = 0; i < axes.length; i++) {
      axes[i] = i;
    }
    return Const.ints(scope, axes);
  }
}
