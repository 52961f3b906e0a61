package dev.millrace.base;

import org.jspecify.annotations.Nullable;

/**
 * The one exception of Millrace: a {@link Code} that tells a program what to do and a message that
 * tells a person what happened, where, what was found against what was needed, and what to do.
 *
 * <p>UNAVAILABLE means retry the call, ABORTED retry the step, FAILED_PRECONDITION that a person
 * must fix something first.
 *
 * <p>An error is <em>derived</em> when it is only the echo of another one, such as the cancellation
 * of a step because a different task failed. Whoever collects several errors reports the first one
 * that is not derived.
 */
public final class MillraceException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final Code code;
  private final boolean derived;

  public MillraceException(Code code, String message) {
    this(code, message, null, false);
  }

  public MillraceException(Code code, String message, @Nullable Throwable cause) {
    this(code, message, cause, false);
  }

  private MillraceException(Code code, String message, @Nullable Throwable cause, boolean derived) {
    super(message, cause);
    this.code = code;
    this.derived = derived;
  }

  @Override
  public String getMessage() {
    String message = super.getMessage();
    return message == null ? "" : message;
  }

  /** What kind of failure this is. */
  public Code code() {
    return code;
  }

  /** Whether this is the echo of another error rather than a cause of its own. */
  public boolean isDerived() {
    return derived;
  }

  /** The same error marked as an echo. */
  public MillraceException asDerived() {
    return derived ? this : new MillraceException(code, getMessage(), this, true);
  }

  /** The same error with another message, for example one that adds the place. */
  public MillraceException withMessage(String message) {
    return new MillraceException(code, message, this, derived);
  }

  /** A caller's mistake. */
  public static MillraceException invalid(String format, @Nullable Object... args) {
    return new MillraceException(Code.INVALID_ARGUMENT, String.format(format, args));
  }

  /** Something a person has to put right before a retry makes sense. */
  public static MillraceException failedPrecondition(String format, @Nullable Object... args) {
    return new MillraceException(Code.FAILED_PRECONDITION, String.format(format, args));
  }

  /** A broken invariant of Millrace itself, reported across a boundary. */
  public static MillraceException internal(String format, @Nullable Object... args) {
    return new MillraceException(Code.INTERNAL, String.format(format, args));
  }

  /** Any throwable as a MillraceException: itself if it is one, INTERNAL otherwise. */
  public static MillraceException of(Throwable t) {
    for (Throwable c = t; c != null; c = c.getCause()) {
      if (c instanceof MillraceException m) {
        return m;
      }
      if (!(c instanceof java.util.concurrent.CompletionException
          || c instanceof java.util.concurrent.ExecutionException)) {
        break;
      }
    }
    if (t instanceof OutOfMemoryError) {
      return new MillraceException(Code.RESOURCE_EXHAUSTED, "Out of memory: " + t.getMessage(), t);
    }
    return new MillraceException(Code.INTERNAL, t.toString(), t);
  }
}
