package dev.millrace.train.data;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Tensor;

/**
 * One passage through a {@link Dataset}. An element is a row of tensors.
 *
 * <p>Threading: one thread at a time.
 */
public interface Elements extends AutoCloseable {
  /** How many elements are held at once while others are passed over. */
  int SKIPPED_AT_ONCE = 1024;

  /** The next element, owned by the caller; null at the end. */
  Tensor[] next();

  /** Passes over the next element; false at the end. */
  default boolean skipNext() {
    Tensor[] element = next();
    if (element != null) {
      release(element);
    }
    return element != null;
  }

  /**
   * Appends up to {@code max} further elements to {@code to}, fewer only at the end, and returns
   * how many. A source that has its data in columns writes them without making tensors of each
   * element.
   */
  default int read(RowBuffer to, int max) {
    for (int n = 0; n < max; n++) {
      Tensor[] element = next();
      if (element == null) {
        return n;
      }
      to.add(element);
    }
    return max;
  }

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

  /** Passes over up to {@code n} elements, fewer only at the end, and returns how many. */
  static long skip(Elements elements, long n) {
    long passed = 0;
    try (RowBuffer rows = new RowBuffer(SKIPPED_AT_ONCE)) {
      while (passed < n) {
        int most = (int) Math.min(SKIPPED_AT_ONCE, n - passed);
        int read = elements.read(rows, most);
        passed += read;
        rows.clear();
        if (read < most) {
          break;
        }
      }
    }
    return passed;
  }

  /** Passes over {@code n} elements on the way to a saved position. */
  static void pass(Elements elements, long n) {
    if (skip(elements, n) < n) {
      throw MillraceException.failedPrecondition(
          "The input ends before the position that was saved: it has fewer elements than it had"
              + " then. Give the training the data it had, or start over in another folder.");
    }
  }

  /** Closes the tensors of an element. */
  static void release(Tensor[] element) {
    for (Tensor t : element) {
      t.close();
    }
  }
}
