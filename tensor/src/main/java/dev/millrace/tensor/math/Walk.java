package dev.millrace.tensor.math;

import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.Arrays;

/**
 * The way operands of different shapes are gone through together, element by element of the result,
 * under TensorFlow's broadcasting rule. Dimensions are merged where every operand allows it, so
 * that most walks are one row, or rows against a row or a column.
 */
final class Walk {
  /**
   * Elements a loop is called with at most. Short calls let a fresh loop be compiled after some
   * hundred of them; a loop that is entered once for a million elements stays interpreted for long.
   */
  private static final long BLOCK = 2048;

  /** Additions that are worth a thread of their own. */
  private static final long GRAIN = 1 << 16;

  /** Sizes, outermost first; at least one. */
  private final long[] dims;

  /** Elements from one index to the next, for each operand and dimension; 0 where it repeats. */
  private final long[][] strides;

  private Walk(long[] dims, long[][] strides) {
    this.dims = dims;
    this.strides = strides;
  }

  /** A walk through operands that all have {@code n} elements, one after the other. */
  static Walk straight(long n, int operands) {
    long[][] strides = new long[operands][];
    Arrays.fill(strides, new long[] {1});
    return new Walk(new long[] {n}, strides);
  }

  /** A walk through {@code result}, to whose shape every operand must broadcast. */
  static Walk of(Shape result, Shape... operands) {
    int count = operands.length;
    boolean same = true;
    for (Shape s : operands) {
      same &= s.equals(result);
    }
    if (same) {
      return straight(result.elements(), count);
    }
    int rank = result.rank();
    long[] dims = new long[Math.max(rank, 1)];
    long[][] strides = new long[count][dims.length];
    long[] dense = new long[count];
    Arrays.fill(dense, 1);
    // From the last dimension to the first; the merged ones gather at the end of the arrays.
    int top = dims.length;
    for (int d = rank - 1; d >= 0; d--) {
      long size = result.dim(d);
      if (size == 1) {
        continue;
      }
      long[] here = new long[count];
      boolean merges = top < dims.length;
      for (int k = 0; k < count; k++) {
        int i = d - rank + operands[k].rank();
        long own = i < 0 ? 1 : operands[k].dim(i);
        if (own != size && own != 1) {
          throw new IllegalArgumentException(operands[k] + " does not broadcast to " + result);
        }
        here[k] = own == 1 ? 0 : dense[k];
        dense[k] *= own;
        merges &= top < dims.length && here[k] == strides[k][top] * dims[top];
      }
      if (merges) {
        dims[top] *= size;
      } else {
        top--;
        dims[top] = size;
        for (int k = 0; k < count; k++) {
          strides[k][top] = here[k];
        }
      }
    }
    if (top == dims.length) {
      return straight(1, count);
    }
    for (int k = 0; k < count; k++) {
      strides[k] = Arrays.copyOfRange(strides[k], top, dims.length);
    }
    return new Walk(Arrays.copyOfRange(dims, top, dims.length), strides);
  }

  /** Whether each operand has one element for a whole row, one bit for each. */
  private int singles() {
    int bits = 0;
    for (int k = 0; k < strides.length; k++) {
      if (strides[k][dims.length - 1] == 0) {
        bits |= 1 << k;
      }
    }
    return bits;
  }

  /** Runs the loop of {@code recipe} over these operands, on several threads if that pays. */
  void run(Recipe recipe, LaneType type, double[] parameters, Tensor... operands) {
    long elements = 1;
    for (long d : dims) {
      elements *= d;
    }
    if (elements == 0) {
      return;
    }
    Run run = new Run(recipe.loop(type, singles()), parameters, operands);
    long grain = Math.max(1, GRAIN / Math.max(1, recipe.weight));
    long inner = elements / dims[0];
    if (elements <= grain) {
      run.over(0, dims[0]);
    } else if (inner == 1) {
      Parallel.run(dims[0], (grain + 63) & -64, run::over);
    } else {
      Parallel.run(dims[0], Math.max(1, grain / inner), run::over);
    }
    Reference.reachabilityFence(operands);
  }

  /** One loop over the memory of some operands. */
  private final class Run {
    private final ElementLoop loop;
    private final double[] parameters;
    private final MemorySegment[] memory;

    /** Strides in bytes. */
    private final long[][] steps;

    Run(ElementLoop loop, double[] parameters, Tensor[] operands) {
      this.loop = loop;
      this.parameters = parameters;
      memory = new MemorySegment[operands.length];
      steps = new long[operands.length][dims.length];
      for (int k = 0; k < operands.length; k++) {
        memory[k] = operands[k].data();
        for (int d = 0; d < dims.length; d++) {
          steps[k][d] = strides[k][d] * operands[k].dtype().bytes();
        }
      }
    }

    /** The part of the walk with these indices in the outermost dimension. */
    void over(long from, long to) {
      long[] at = new long[memory.length];
      advance(at, 0, from);
      part(at, 0, to - from);
    }

    private void part(long[] at, int d, long size) {
      int last = dims.length - 1;
      if (d == last) {
        row(at, size);
      } else if (d == last - 1 && dims[last] < BLOCK) {
        rows(at, d, size, dims[last]);
      } else {
        long[] here = at.clone();
        for (long i = 0; i < size; i++) {
          part(here, d + 1, dims[d + 1]);
          advance(here, d, 1);
        }
      }
    }

    private void row(long[] at, long n) {
      long[] here = at.clone();
      for (long i = 0; i < n; i += BLOCK) {
        loop.run(memory, here, here, 1, Math.min(BLOCK, n - i), parameters);
        advance(here, dims.length - 1, BLOCK);
      }
    }

    private void rows(long[] at, int d, long rows, long n) {
      long[] here = at.clone();
      long[] step = new long[here.length];
      advance(step, d, 1);
      long each = Math.max(1, BLOCK / n);
      for (long r = 0; r < rows; r += each) {
        loop.run(memory, here, step, Math.min(each, rows - r), n, parameters);
        advance(here, d, each);
      }
    }

    private void advance(long[] at, int d, long count) {
      for (int k = 0; k < at.length; k++) {
        at[k] += steps[k][d] * count;
      }
    }
  }
}
