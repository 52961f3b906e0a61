package dev.millrace.ops.array;

import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;

/** Copies equally long runs of elements at regular distances, as joining and splitting do. */
final class Runs {
  private Runs() {}

  /**
   * {@code count} runs of {@code length} elements: from {@code fromStart} on every {@code fromStep}
   * elements, to {@code toStart} on every {@code toStep}.
   */
  static void interleave(
      long count,
      long length,
      Tensor from,
      long fromStart,
      long fromStep,
      Tensor to,
      long toStart,
      long toStep) {
    if (count == 1) {
      StridedCopy.copyRun(from, fromStart, to, toStart, length);
      return;
    }
    long[] dims = {count, length};
    StridedCopy.copy(
        dims, from, fromStart, new long[] {fromStep, 1}, to, toStart, new long[] {toStep, 1});
  }
}
