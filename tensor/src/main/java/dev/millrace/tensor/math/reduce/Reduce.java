package dev.millrace.tensor.math.reduce;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.VectorModule;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.Specialized;
import dev.millrace.tensor.math.elementwise.BinaryOp;
import dev.millrace.tensor.math.elementwise.ElementCast;
import dev.millrace.tensor.math.elementwise.Formula;
import dev.millrace.tensor.math.elementwise.Recipe;
import dev.millrace.tensor.math.elementwise.TensorFill;
import dev.millrace.tensor.math.elementwise.Walk;
import dev.millrace.tensor.math.lanes.LaneType;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.ref.Reference;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Reduces a tensor over some of its axes. Neighbouring axes that are treated alike count as one, so
 * what remains is to reduce the last axis (rows) or one before it (columns), a step for each axis
 * that is reduced.
 *
 * <p>Long rows and tall columns are reduced in blocks whose results are reduced again: rounding
 * errors grow with the logarithm of the number of elements, and the result does not depend on the
 * number of threads. Types such as half are reduced as float.
 *
 * <p>Threading: large tensors are split over the threads of {@link Parallel}.
 */
final class Reduce {
  /** Reduces what fits one block; the memory may start anywhere. */
  interface Loop {
    /** Writes to y, one after the other, the n elements of each row combined. */
    void rows(MemorySegment x, long at, long step, long rows, long n, MemorySegment y, long to);

    /** Writes to y the n columns, the elements of each combined. */
    void columns(MemorySegment x, long at, long step, long rows, long n, MemorySegment y, long to);
  }

  /**
   * What a loop is made for; with {@code squares} it combines the squares of the elements. {@code
   * unsigned} are numbers of 64 bits only: narrower ones are signed as long.
   */
  record Constants(LaneType type, Fold fold, boolean unsigned, Number identity, boolean squares) {}

  /** Elements of a row that are reduced without intermediate results. */
  private static final long ROW_BLOCK = 1024;

  /** Rows whose columns are reduced without intermediate results. */
  private static final long COLUMN_BLOCK = 16;

  /** Elements that are worth a thread of their own. */
  private static final long GRAIN = 1 << 16;

  private static final Recipe BY_COUNT = Recipe.map(1, Formula.X.over(Formula.parameter(0)));
  private static final Recipe HALF = Recipe.map(1, Formula.X.times(0.5));

  private static final Map<Constants, Loop> LOOPS = new ConcurrentHashMap<>();

  private Reduce() {}

  /**
   * {@code out} = {@code x} reduced over the axes that are true in {@code reduced}. The elements of
   * {@code out} are those of the kept axes in row-major order; its shape is not looked at.
   */
  static void run(Fold op, Tensor x, boolean[] reduced, Tensor out) {
    DType type = x.dtype();
    boolean isNarrow = type.isIntegral() && type.bytes() < 8;
    DType wide = op == Fold.MEAN && isNarrow ? DType.INT64 : LaneType.computedAs(type);
    if (wide != type) {
      Tensor from = Refs.allocate(wide, x.shape());
      Tensor to = Refs.allocate(wide, out.shape());
      try {
        ElementCast.run(x, from);
        run(op, from, reduced, to);
        ElementCast.run(to, out);
      } finally {
        Refs.release(from);
        Refs.release(to);
      }
      return;
    }
    Axes axes = Axes.of(x.shape(), reduced);
    reduce(op, type, false, x, axes, out);
    if (op == Fold.MEAN) {
      divide(out, axes.reducedElements());
    }
  }

  /** Half the sum of the squares of all elements, a floating type. */
  static void halfSquares(Tensor x, Tensor out) {
    if (LaneType.of(x.dtype()) == null) {
      Tensor from = Refs.allocate(DType.FLOAT, x.shape());
      Tensor to = Refs.allocate(DType.FLOAT, Shape.scalar());
      try {
        ElementCast.run(x, from);
        halfSquares(from, to);
        ElementCast.run(to, out);
      } finally {
        Refs.release(from);
        Refs.release(to);
      }
      return;
    }
    boolean[] all = new boolean[x.shape().rank()];
    Arrays.fill(all, true);
    reduce(Fold.SUM, x.dtype(), true, x, Axes.of(x.shape(), all), out);
    Walk.run(out.shape(), HALF, LaneType.of(x.dtype()), new double[0], out, out);
  }

  private static void divide(Tensor sums, long count) {
    if (sums.dtype().isFloating()) {
      Walk.run(sums.shape(), BY_COUNT, LaneType.of(sums.dtype()), new double[] {count}, sums, sums);
    } else {
      for (long i = 0; i < sums.elements(); i++) {
        long sum = sums.longAt(i);
        sums.setLong(i, count == 0 ? 0 : BinaryOp.DIV.of(sums.dtype(), sum, count));
      }
    }
    Reference.reachabilityFence(sums);
  }

  private static Loop loop(Fold op, DType type, boolean squares) {
    boolean unsigned = type == DType.UINT64;
    return LOOPS.computeIfAbsent(
        new Constants(LaneType.of(type), op, unsigned, op.identity(type), squares),
        c ->
            Specialized.copy(
                MethodHandles.lookup(),
                Loop.class,
                VectorModule.isPresent() ? ReduceLoop.class : ScalarReduceLoop.class,
                c));
  }

  /** Reduces one axis after the other, the last one first. */
  private static void reduce(
      Fold op, DType type, boolean squares, Tensor x, Axes axes, Tensor out) {
    if (out.elements() == 0) {
      return;
    }
    if (!axes.isReducing() && !squares) {
      TensorFill.copy(x, out);
      return;
    }
    if (!axes.isReducing()) {
      axes = axes.withUnitAxis();
    }
    Tensor from = x;
    boolean first = squares;
    while (true) {
      Axes.Step step = axes.lastStep();
      axes = axes.afterLastStep();
      boolean last = !axes.isReducing();
      Tensor to = last ? out : Refs.allocate(type, Shape.of(step.outer() * step.inner()));
      step(op, type, first, step, from.data(), to.data());
      if (from != x) {
        Refs.release(from);
      }
      if (last) {
        break;
      }
      from = to;
      first = false;
    }
    Reference.reachabilityFence(x);
    Reference.reachabilityFence(out);
  }

  /** Reduces the middle axis of three. */
  private static void step(
      Fold op, DType type, boolean squares, Axes.Step s, MemorySegment x, MemorySegment y) {
    boolean rows = s.inner() == 1;
    long block = rows ? ROW_BLOCK : COLUMN_BLOCK;
    Loop loop = loop(op, type, squares);
    if (s.size() <= block) {
      whole(loop, type, s, x, y);
      return;
    }
    long blocks = (s.size() + block - 1) / block;
    Tensor partial = Refs.allocate(type, Shape.of(s.outer() * blocks * s.inner()));
    try {
      MemorySegment z = partial.data();
      int bytes = type.bytes();
      long row = s.inner() * bytes;
      Parallel.run(
          s.outer() * blocks,
          Math.max(1, GRAIN / (block * s.inner())),
          (from, to) -> {
            for (long i = from; i < to; i++) {
              long start = i % blocks * block;
              long size = Math.min(block, s.size() - start);
              long at = (i / blocks * s.size() + start) * row;
              if (rows) {
                loop.rows(x, at, 0, 1, size, z, i * row);
              } else {
                loop.columns(x, at, row, size, s.inner(), z, i * row);
              }
            }
          });
      step(op, type, false, new Axes.Step(s.outer(), blocks, s.inner()), z, y);
    } finally {
      Refs.release(partial);
    }
  }

  /** Reduces without intermediate results. */
  private static void whole(Loop loop, DType type, Axes.Step s, MemorySegment x, MemorySegment y) {
    int bytes = type.bytes();
    if (s.inner() == 1) {
      long row = s.size() * bytes;
      long grain = Math.max(1, GRAIN / Math.max(1, s.size()));
      Parallel.run(
          s.outer(),
          grain,
          (from, to) -> loop.rows(x, from * row, row, to - from, s.size(), y, from * bytes));
    } else {
      long row = s.inner() * bytes;
      long grain = Math.max(1, GRAIN / Math.max(1, s.size() * s.inner()));
      Parallel.run(
          s.outer(),
          grain,
          (from, to) -> {
            for (long i = from; i < to; i++) {
              loop.columns(x, i * s.size() * row, row, s.size(), s.inner(), y, i * row);
            }
          });
    }
  }
}
