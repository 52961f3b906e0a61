package dev.millrace.tensor;

/** A tensor was used after it was closed. The cause, if there is one, is where it was closed. */
public final class ClosedTensorException extends IllegalStateException {
  ClosedTensorException(String message, Throwable closedAt) {
    super(message, closedAt);
  }
}
