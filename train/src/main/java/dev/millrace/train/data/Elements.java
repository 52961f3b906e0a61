package dev.millrace.train.data;

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

  @Override
  default void close() {}

  /** Closes the tensors of an element. */
  static void release(Tensor[] element) {
    for (Tensor t : element) {
      t.close();
    }
  }
}
