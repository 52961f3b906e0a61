package dev.millrace.fuzz;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What the fuzz tests share. */
public final class Fuzzing {
  /** How long a target is fuzzed with {@code -Pfuzz}. */
  public static final String TIME = "60s";

  private Fuzzing() {}

  /** A file of this process that does not exist yet. */
  public static Path newFile(String name) {
    try {
      Path folder = Files.createTempDirectory("millrace-fuzz");
      folder.toFile().deleteOnExit();
      Path file = folder.resolve(name);
      file.toFile().deleteOnExit();
      return file;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The bytes of {@code from} from {@code begin} to {@code end}, as far as there are any. */
  public static byte[] part(byte[] from, int begin, int end) {
    int b = Math.min(begin, from.length);
    int e = Math.min(end, from.length);
    byte[] part = new byte[e - b];
    System.arraycopy(from, b, part, 0, part.length);
    return part;
  }

  /** All {@code parts} behind each other. */
  public static byte[] joined(byte[]... parts) {
    int length = 0;
    for (byte[] p : parts) {
      length += p.length;
    }
    byte[] all = new byte[length];
    int at = 0;
    for (byte[] p : parts) {
      System.arraycopy(p, 0, all, at, p.length);
      at += p.length;
    }
    return all;
  }
}
