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

/** What can go wrong with a file, as errors a caller can act on. */
public final class Failures {
  private Failures() {}

  /** The bytes of {@code file} are not what was written: damaged, cut short, or of another kind. */
  static MillraceException corrupt(Path file, String format, Object... args) {
    return new MillraceException(Code.DATA_LOSS, file + ": " + String.format(format, args));
  }

  /** The system refused; {@code doing} reads like "Cannot write". */
  static MillraceException io(String doing, Path file, IOException e) {
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

  /** Whether a file is where a folder should be. */
  private static boolean isNoDirectory(FileSystemException e) {
    return e instanceof FileAlreadyExistsException
        || e instanceof NotDirectoryException
        || (e.getReason() != null && e.getReason().contains("Not a directory"));
  }

  /** The disk cannot give back, or take, what it should: as good as damaged. */
  private static boolean isDiskBroken(IOException e) {
    return e.getMessage() != null && e.getMessage().contains("Input/output error");
  }

  private static boolean isDiskFull(IOException e) {
    String message = e.getMessage();
    return message != null
        && (message.contains("No space left") || message.contains("quota exceeded"));
  }

  /** Why the system refused, in its words: {@code permission denied}. */
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
