package dev.millrace.base;

/**
 * What kind of failure an error is. The same codes, with the same numbers, that gRPC and TensorFlow
 * use, so an error crosses the wire unchanged.
 */
public enum Code {
  OK,
  CANCELLED,
  UNKNOWN,
  INVALID_ARGUMENT,
  DEADLINE_EXCEEDED,
  NOT_FOUND,
  ALREADY_EXISTS,
  PERMISSION_DENIED,
  RESOURCE_EXHAUSTED,
  FAILED_PRECONDITION,
  ABORTED,
  OUT_OF_RANGE,
  UNIMPLEMENTED,
  INTERNAL,
  UNAVAILABLE,
  DATA_LOSS,
  UNAUTHENTICATED;

  private static final Code[] ALL = values();

  /** The number on the wire. */
  public int number() {
    return ordinal();
  }

  /** The code with this number; UNKNOWN for a number this version does not know. */
  public static Code of(int number) {
    return number >= 0 && number < ALL.length ? ALL[number] : UNKNOWN;
  }
}
