package dev.millrace.train.data.file;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.storage.Failures;
import io.airlift.compress.v3.zstd.ZstdInputStream;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;

/** Finds and opens files of data. */
public final class InputFiles {
  private static final int BUFFER_BYTES = 1 << 16;

  private InputFiles() {}

  /**
   * The files that {@code glob} names, sorted by name, such as {@code data/day-*.csv.gz}. Only the
   * last part of the path may have {@code *}, {@code ?}, <code>{a,b}</code> and {@code [a-z]}.
   */
  public static List<Path> matching(String glob) {
    int slash = glob.lastIndexOf('/');
    Path folder = Path.of(slash < 0 ? "." : slash == 0 ? "/" : glob.substring(0, slash));
    String last = glob.substring(slash + 1);
    PathMatcher matcher = FileSystems.getDefault().getPathMatcher("glob:" + last);
    try (Stream<Path> all = Files.list(folder)) {
      List<Path> files =
          all.filter(p -> matcher.matches(p.getFileName()) && Files.isRegularFile(p))
              .map(p -> slash < 0 ? p.getFileName() : p)
              .sorted()
              .toList();
      if (files.isEmpty()) {
        throw new MillraceException(
            Code.NOT_FOUND, "No file is named " + glob + ": folder " + folder + " has none such.");
      }
      return files;
    } catch (IOException e) {
      throw unreadable(folder, e);
    }
  }

  /** Whether {@code file} is compressed, by its name. */
  public static boolean isCompressed(Path file) {
    return named(file, ".gz") || named(file, ".zst");
  }

  private static boolean named(Path file, String ending) {
    return file.toString().endsWith(ending);
  }

  /** The bytes of {@code file}, decompressed if its name ends in {@code .gz} or {@code .zst}. */
  public static InputStream open(Path file) throws IOException {
    InputStream raw = Files.newInputStream(file);
    try {
      if (named(file, ".gz")) {
        return new GZIPInputStream(raw, BUFFER_BYTES);
      }
      if (named(file, ".zst")) {
        return new ZstdInputStream(new BufferedInputStream(raw, BUFFER_BYTES));
      }
      return raw;
    } catch (IOException | RuntimeException e) {
      raw.close();
      throw e;
    }
  }

  /** The size of {@code file} on disk. */
  public static long bytes(Path file) {
    try {
      return Files.size(file);
    } catch (IOException e) {
      throw unreadable(file, e);
    }
  }

  /** What is said of a file that cannot be read. */
  public static MillraceException unreadable(Path file, Exception e) {
    boolean damaged = isCompressed(file) && !(e instanceof FileSystemException);
    return damaged
        ? new MillraceException(
            Code.DATA_LOSS,
            "Cannot decompress "
                + file
                + ": "
                + e
                + ". It is damaged, cut short, or not compressed"
                + " as its name says.",
            e)
        : new MillraceException(Code.NOT_FOUND, "Cannot read " + file + ": " + reason(e) + ".", e);
  }

  private static String reason(Exception e) {
    return e instanceof IOException io ? Failures.reason(io) : e.toString();
  }
}
