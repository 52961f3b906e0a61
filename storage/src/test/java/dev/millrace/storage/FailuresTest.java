package dev.millrace.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class FailuresTest {
  private static void check(Code code, String reason, IOException e) {
    MillraceException found = Failures.io("Cannot read", Path.of("model.index"), e);
    assertEquals(code, found.code());
    assertEquals("Cannot read model.index: " + reason, found.getMessage());
  }

  @Test
  void reasonsOfTheSystemBecomeCodes() {
    check(Code.NOT_FOUND, "no such file or directory.", new NoSuchFileException("model.index"));
    check(Code.PERMISSION_DENIED, "permission denied.", new AccessDeniedException("model.index"));
    check(
        Code.RESOURCE_EXHAUSTED,
        "No space left on device.",
        new IOException("No space left on device"));
    check(Code.UNKNOWN, "Is a directory.", new FileSystemException("x", null, "Is a directory"));
  }

  /** Whoever restores goes on to the checkpoint before. */
  @Test
  void diskThatCannotBeReadIsAsGoodAsDamage() {
    check(Code.DATA_LOSS, "Input/output error.", new IOException("Input/output error"));
    check(
        Code.DATA_LOSS,
        "Input/output error.",
        new FileSystemException("x", null, "Input/output error"));
  }
}
