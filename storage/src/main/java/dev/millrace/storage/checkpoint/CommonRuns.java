package dev.millrace.storage.checkpoint;

import dev.millrace.tensor.Shape;
import java.util.Arrays;

/**
 * The overlap of two slices of one tensor, as runs of elements that are contiguous in both. Runs
 * come in ascending order, so that a caller can read both sides sequentially.
 */
final class CommonRuns {
  private final long elements;
  private final boolean isIdentity;

  /** For the dimensions outside a run: the count, the current index and the stride. */
  private final long[] counts;

  private final long[] at;
  private final long[] fromStrides;
  private final long[] toStrides;
  private final long length;
  private long from;
  private long to;
  private boolean started;

  /** The runs that slices {@code a} and {@code b} of a tensor of shape {@code full} share. */
  CommonRuns(TensorSlice a, TensorSlice b, Shape full) {
    TensorSlice source = a.within(full);
    TensorSlice target = b.within(full);
    int rank = full.rank();
    long[] common = new long[rank];
    long fromStride = 1;
    long toStride = 1;
    long total = 1;
    boolean same = true;
    fromStrides = new long[rank];
    toStrides = new long[rank];
    for (int i = rank - 1; i >= 0; i--) {
      long start = Math.max(source.start(i), target.start(i));
      long end = Math.min(source.start(i) + source.length(i), target.start(i) + target.length(i));
      common[i] = Math.max(0, end - start);
      total *= common[i];
      same &= common[i] == source.length(i) && common[i] == target.length(i);
      fromStrides[i] = fromStride;
      toStrides[i] = toStride;
      from += (start - source.start(i)) * fromStride;
      to += (start - target.start(i)) * toStride;
      fromStride *= source.length(i);
      toStride *= target.length(i);
    }
    elements = total;
    isIdentity = same;
    // A run spans the innermost dimensions that both slices contain fully, and one more.
    int outer = rank;
    long run = 1;
    boolean whole = true;
    while (outer > 0 && whole) {
      outer--;
      run *= common[outer];
      whole = common[outer] == source.length(outer) && common[outer] == target.length(outer);
    }
    length = run;
    counts = Arrays.copyOf(common, outer);
    at = new long[outer];
  }

  /** The number of elements in all runs. */
  long elements() {
    return elements;
  }

  /** Whether a single run covers both slices. */
  boolean isIdentity() {
    return isIdentity;
  }

  /** Moves to the next run. Before the first call there is no current run. */
  boolean next() {
    if (!started) {
      started = true;
      return elements > 0;
    }
    for (int i = counts.length - 1; i >= 0; i--) {
      from += fromStrides[i];
      to += toStrides[i];
      if (++at[i] < counts[i]) {
        return true;
      }
      from -= fromStrides[i] * counts[i];
      to -= toStrides[i] * counts[i];
      at[i] = 0;
    }
    return false;
  }

  /** The start of the run in the first slice, in elements. */
  long from() {
    return from;
  }

  /** The start of the run in the second slice, in elements. */
  long to() {
    return to;
  }

  /** The length of the run in elements. */
  long length() {
    return length;
  }
}
