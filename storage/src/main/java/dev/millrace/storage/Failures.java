package dev.millrace.storage;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Converts file errors to {@link MillraceException}s with a code that callers can act on. */
public final class Failures {
  private Failures() {}

  /** DATA_LOSS: {@code file} is damaged, truncated or of another format. */
  public static MillraceException corrupt(Path file, String format, @Nullable Object... args) {
    return new MillraceException(Code.DATA_LOSS, file + ": " + String.format(format, args));
  }

  /** The error for a failed system call; {@code doing} is a phrase like "Cannot write". */
  public static MillraceException io(String doing, Path file, IOException e) {
    return new MillraceException(codeOf(e), doing + " " + file + ": " + reason(e) + ".", e);
  }

  private static Code codeOf(IOException e) {
    return switch (e) {
      case NoSuchFileException _ -> Code.NOT_FOUND;
      case AccessDeniedException _ -> Code.PERMISSION_DENIED;
      case ClosedByInterruptException _ -> Code.CANCELLED;
      case FileSystemException f when isNoDirectory(f) -> Code.FAILED_PRECONDITION;
      default ->
          isDiskFull(e) ? Code.RESOURCE_EXHAUSTED : isDiskBroken(e) ? Code.DATA_LOSS : Code.UNKNOWN;
    };
  }

  /** Whether the path exists but is not a folder. */
  private static boolean isNoDirectory(FileSystemException e) {
    return e instanceof FileAlreadyExistsException
        || e instanceof NotDirectoryException
        || (e.getReason() != null && e.getReason().contains("Not a directory"));
  }

  /** Whether the disk failed to read or write. Callers treat this like damage. */
  private static boolean isDiskBroken(IOException e) {
    return e.getMessage() != null && e.getMessage().contains("Input/output error");
  }

  private static boolean isDiskFull(IOException e) {
    String message = e.getMessage();
    return message != null
        && (message.contains("No space left") || message.contains("quota exceeded"));
  }

  /** The system's reason, such as {@code permission denied}. */
  public static String reason(IOException e) {
    return switch (e) {
      case NoSuchFileException _ -> "no such file or directory";
      case AccessDeniedException _ -> "permission denied";
      case ClosedByInterruptException _ -> "interrupted";
      case FileAlreadyExistsException _ -> "a file is in its place";
      case FileSystemException f when f.getReason() != null -> f.getReason();
      default -> e.getMessage() == null ? e.toString() : e.getMessage();
    };
  }
}
