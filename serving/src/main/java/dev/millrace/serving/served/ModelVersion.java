package dev.millrace.serving.served;

import dev.millrace.serving.Predictor;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One version of a served model. It is closed when it was retired and the last request that uses it
 * has ended.
 *
 * <p>Threading: any thread.
 */
final class ModelVersion {
  private final long number;
  private final Predictor predictor;

  /** Requests that use it, and 1 while it is offered; 0 once it is closed. */
  private final AtomicLong uses = new AtomicLong(1);

  ModelVersion(long number, Predictor predictor) {
    this.number = number;
    this.predictor = predictor;
  }

  long number() {
    return number;
  }

  Predictor predictor() {
    return predictor;
  }

  /** Holds it for a request; false if it is closed. */
  boolean acquire() {
    while (true) {
      long n = uses.get();
      if (n == 0) {
        return false;
      }
      if (uses.compareAndSet(n, n + 1)) {
        return true;
      }
    }
  }

  /** Ends a use; the last one closes it. */
  void release() {
    if (uses.decrementAndGet() == 0) {
      predictor.close();
    }
  }

  boolean isClosed() {
    return uses.get() == 0;
  }
}
