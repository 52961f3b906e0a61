package dev.millrace.graph.store;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.io.IOException;
import java.nio.file.Path;

/** What a store says when it cannot use its files. */
final class StoreFailures {
  private StoreFailures() {}

  /** DATA_LOSS: a file is not what the store has written. */
  static MillraceException damaged(Path file, String what) {
    return new MillraceException(
        Code.DATA_LOSS,
        file
            + " is damaged: "
            + what
            + ". The state in "
            + file.getParent()
            + " cannot be used. Move that folder away; training then resumes at the last"
            + " checkpoint.");
  }

  /** The error for a failed system call; {@code doing} is a phrase like "Cannot write". */
  static MillraceException io(String doing, Path file, IOException e) {
    String reason = e.getMessage() == null ? e.toString() : e.getMessage();
    boolean full = reason.contains("No space left") || reason.contains("quota exceeded");
    return new MillraceException(
        full ? Code.RESOURCE_EXHAUSTED : Code.UNKNOWN, doing + " " + file + ": " + reason, e);
  }
}
