package dev.millrace.train.data.file;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A part of a file: what begins at byte {@code from} or behind it, but before {@code to}.
 *
 * @param to exclusive; {@link Long#MAX_VALUE} for the end of the file
 */
public record FileRange(Path file, long from, long to) {
  /** Less is not worth a part of its own: it would hardly hold what a shuffle mixes. */
  private static final long LEAST_BYTES = 1 << 20;

  /** What one worker reads at a time, and reads again at most when a job goes on. */
  private static final long MOST_BYTES = 32 << 20;

  /** As many parts as can be dealt evenly to some dozen workers. */
  private static final long PARTS = 64;

  /** The whole of {@code file}. */
  public static FileRange whole(Path file) {
    return new FileRange(file, 0, Long.MAX_VALUE);
  }

  /** Cuts files into parts of about the same size; compressed files stay whole. */
  public static List<FileRange> cut(List<Path> files) {
    return cut(files, LEAST_BYTES);
  }

  static List<FileRange> cut(List<Path> files, long least) {
    long total = files.stream().mapToLong(InputFiles::bytes).sum();
    long size = Math.clamp(total / PARTS, least, MOST_BYTES);
    List<FileRange> ranges = new ArrayList<>();
    for (Path file : files) {
      long bytes = InputFiles.bytes(file);
      long parts = InputFiles.isCompressed(file) ? 1 : Math.max(1, bytes / size);
      for (long i = 0; i < parts; i++) {
        long to = i + 1 == parts ? Long.MAX_VALUE : (i + 1) * bytes / parts;
        ranges.add(new FileRange(file, i * bytes / parts, to));
      }
    }
    return ranges;
  }
}
