package dev.millrace.tensor.math.elementwise;

import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.lanes.LaneType;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.Arrays;

/**
 * The way operands of different shapes are gone through together, element by element of the result,
 * under TensorFlow's broadcasting rule. Dimensions are merged where every operand allows it, so
 * that most walks are rows against a row or a column. The commonest of all, operands of one shape
 * and single numbers, needs no walk: it is one row.
 */
public final class Walk {
  /**
   * Elements a loop is called with at most. Short calls let a fresh loop be compiled after some
   * hundred of them; a loop that is entered once for a million elements stays interpreted for long.
   */
  private static final long BLOCK = 2048;

  /** Additions that are worth a thread of their own. */
  private static final long GRAIN = 1 << 16;

  /** Sizes, outermost first; at least one. */
  private final long[] dims;

  /** Bytes from one index to the next, for each operand and dimension; 0 where it repeats. */
  private final long[][] steps;

  private final ElementLoop loop;
  private final double[] parameters;
  private final MemorySegment[] memory;

  /**
   * Runs the loop of {@code recipe} over these operands, all of which broadcast to the shape of the
   * result, on several threads if that pays.
   */
  public static void run(
      Shape result, Recipe recipe, LaneType type, double[] parameters, Tensor... operands) {
    long n = result.elements();
    if (n == 0) {
      return;
    }
    MemorySegment[] memory = new MemorySegment[operands.length];
    long[] step = new long[operands.length];
    int singles = 0;
    boolean row = true;
    for (int k = 0; k < operands.length; k++) {
      memory[k] = operands[k].data();
      long own = operands[k].elements();
      if (own == n) {
        step[k] = operands[k].dtype().bytes();
      } else {
        singles |= 1 << k;
        row &= own == 1;
      }
    }
    long grain = Math.max(1, GRAIN / Math.max(1, recipe.weight));
    if (!row) {
      new Walk(result, recipe, type, parameters, memory, operands).run(n, grain);
    } else {
      ElementLoop loop = recipe.loop(type, singles);
      if (n <= grain) {
        row(loop, memory, step, parameters, 0, n);
      } else {
        Parallel.run(n, (grain + 63) & -64, (a, b) -> row(loop, memory, step, parameters, a, b));
      }
    }
    Reference.reachabilityFence(operands);
  }

  private static void row(
      ElementLoop loop, MemorySegment[] memory, long[] step, double[] parameters, long a, long b) {
    long[] at = new long[memory.length];
    for (long i = a; i < b; i += BLOCK) {
      for (int k = 0; k < at.length; k++) {
        at[k] = i * step[k];
      }
      loop.run(memory, at, step, 1, Math.min(BLOCK, b - i), parameters);
    }
  }

  private Walk(
      Shape result,
      Recipe recipe,
      LaneType type,
      double[] parameters,
      MemorySegment[] memory,
      Tensor[] operands) {
    int count = operands.length;
    int rank = result.rank();
    long[] sizes = new long[rank];
    long[][] strides = new long[count][rank];
    long[] dense = new long[count];
    for (int k = 0; k < count; k++) {
      dense[k] = operands[k].dtype().bytes();
    }
    // From the last dimension to the first; the merged ones gather at the end of the arrays.
    int top = rank;
    for (int d = rank - 1; d >= 0; d--) {
      long size = result.dim(d);
      if (size == 1) {
        continue;
      }
      long[] here = new long[count];
      boolean merges = top < rank;
      for (int k = 0; k < count; k++) {
        Shape shape = operands[k].shape();
        int i = d - rank + shape.rank();
        long own = i < 0 ? 1 : shape.dim(i);
        if (own != size && own != 1) {
          throw new IllegalArgumentException(shape + " does not broadcast to " + result);
        }
        here[k] = own == 1 ? 0 : dense[k];
        dense[k] *= own;
        merges = merges && here[k] == strides[k][top] * sizes[top];
      }
      if (merges) {
        sizes[top] *= size;
      } else {
        top--;
        sizes[top] = size;
        for (int k = 0; k < count; k++) {
          strides[k][top] = here[k];
        }
      }
    }
    int singles = 0;
    for (int k = 0; k < count; k++) {
      strides[k] = Arrays.copyOfRange(strides[k], top, rank);
      singles |= strides[k][rank - top - 1] == 0 ? 1 << k : 0;
    }
    this.dims = Arrays.copyOfRange(sizes, top, rank);
    this.steps = strides;
    this.loop = recipe.loop(type, singles);
    this.parameters = parameters;
    this.memory = memory;
  }

  private void run(long elements, long grain) {
    if (elements <= grain) {
      over(0, dims[0]);
    } else {
      Parallel.run(dims[0], Math.max(1, grain / (elements / dims[0])), this::over);
    }
  }

  /** The part of the walk with these indices in the outermost dimension. */
  private void over(long from, long to) {
    long[] at = new long[memory.length];
    advance(at, 0, from);
    part(at, 0, to - from);
  }

  private void part(long[] at, int d, long size) {
    int last = dims.length - 1;
    if (d == last) {
      line(at, size);
    } else if (d == last - 1 && dims[last] < BLOCK) {
      lines(at, d, size, dims[last]);
    } else {
      long[] here = at.clone();
      for (long i = 0; i < size; i++) {
        part(here, d + 1, dims[d + 1]);
        advance(here, d, 1);
      }
    }
  }

  private void line(long[] at, long n) {
    long[] here = at.clone();
    for (long i = 0; i < n; i += BLOCK) {
      loop.run(memory, here, here, 1, Math.min(BLOCK, n - i), parameters);
      advance(here, dims.length - 1, BLOCK);
    }
  }

  private void lines(long[] at, int d, long count, long n) {
    long[] here = at.clone();
    long[] step = new long[here.length];
    advance(step, d, 1);
    long each = Math.max(1, BLOCK / n);
    for (long r = 0; r < count; r += each) {
      loop.run(memory, here, step, Math.min(each, count - r), n, parameters);
      advance(here, d, each);
    }
  }

  private void advance(long[] at, int d, long count) {
    for (int k = 0; k < at.length; k++) {
      at[k] += steps[k][d] * count;
    }
  }
}
