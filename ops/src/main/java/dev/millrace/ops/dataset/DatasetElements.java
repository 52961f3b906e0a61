package dev.millrace.ops.dataset;

import dev.millrace.base.Cancellation;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;

/**
 * One walk through the elements of a dataset.
 *
 * <p>Threading: one thread at a time, one that may wait. {@link #close} ends it, by the last thread
 * that has it.
 */
abstract class DatasetElements implements AutoCloseable {
  /**
   * The next element, whose tensors each have a counted reference that is the caller's; null at the
   * end, and ever after. Ends soon after the cancellation, by its cause. After a failure the next
   * call goes on behind the element that failed.
   */
  abstract Tensor[] next(Cancellation c);

  /** Whether {@link #next} is sure not to wait or work long. */
  boolean isReady() {
    return false;
  }

  /** Gives back what it holds, and ends its threads before it returns. */
  @Override
  public void close() {}

  /** Gives back an element that nobody will take. */
  static void release(Tensor[] element) {
    for (Tensor t : element) {
      if (t != null) {
        Refs.release(t);
      }
    }
  }
}
