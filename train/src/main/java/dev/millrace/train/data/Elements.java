package dev.millrace.train.data;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Tensor;

/**
 * One passage through a {@link Dataset}. An element is a row of tensors.
 *
 * <p>Threading: one thread at a time.
 */
public interface Elements extends AutoCloseable {
  /** The next element, owned by the caller; null at the end. */
  Tensor[] next();

  /**
   * Where the passage is: given to {@link #seek} of another passage through the same dataset, that
   * one goes on with the element after the last one that {@link #next} gave here.
   */
  long[] position();

  /** Goes to a position, which must be one of a passage through the same dataset. */
  void seek(long[] position);

  /**
   * Goes to {@code beginning}, the position of a passage that has given nothing yet, for repetition
   * number {@code number}: a shuffle on the way gives another order.
   */
  default void repeat(long[] beginning, long number) {
    seek(beginning);
  }

  @Override
  default void close() {}

  /** The next element of {@code elements}, passed over on the way to a saved position. */
  static void pass(Elements elements) {
    Tensor[] element = elements.next();
    if (element == null) {
      throw MillraceException.failedPrecondition(
          "The input ends before the position that was saved: it has fewer elements than it had"
              + " then. Give the training the data it had, or start anew in another folder.");
    }
    release(element);
  }

  /** Closes the tensors of an element. */
  static void release(Tensor[] element) {
    for (Tensor t : element) {
      t.close();
    }
  }
}
