package dev.millrace.interop.conformance;

/**
 * One thing in which an engine differs from TensorFlow.
 *
 * @param kind what differs
 * @param subject the case, for a person
 * @param message how it differs
 */
public record Finding(Kind kind, String subject, String message) {
  /** What can differ. */
  public enum Kind {
    /** TensorFlow does not do what the case says it does: the case is wrong. */
    CASE,
    /** The engine has no such op, or not for this type. */
    UNSUPPORTED,
    /** One fails and the other does not, or with another code. */
    ERROR,
    /** Types, shapes or values of outputs. */
    VALUE,
    /** Shapes inferred before running. */
    INFERENCE,
    /** Gradients of an op. */
    GRADIENT
  }

  @Override
  public String toString() {
    return kind + " " + subject + ": " + message;
  }
}
