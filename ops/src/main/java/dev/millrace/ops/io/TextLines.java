package dev.millrace.ops.io;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** The lines of a file, without what ends them; each is known by its number, from 1. */
final class TextLines implements Reader.Source {
  private static final int BUFFER_BYTES = 256 << 10;

  private final String work;
  private final Path file;
  private final InputStream in;
  private long number;

  /** Of the file {@code work} the lines after the first {@code skipped}. */
  TextLines(String work, int skipped) {
    this.work = work;
    this.file = FileNames.path(work);
    try {
      in = new BufferedInputStream(Files.newInputStream(file), BUFFER_BYTES);
    } catch (IOException e) {
      throw WholeFiles.failure("read", file, e);
    }
    while (number < skipped && next() != null) {
      // It counts the line.
    }
  }

  @Override
  public Reader.Entry next() {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    try {
      int b = in.read();
      if (b < 0) {
        return null;
      }
      for (; b >= 0 && b != '\n'; b = in.read()) {
        if (b != '\r') {
          line.write(b);
        }
      }
    } catch (IOException e) {
      throw WholeFiles.failure("read", file, e);
    }
    number++;
    return new Reader.Entry(work + ":" + number, line.toByteArray());
  }

  @Override
  public void close() {
    try {
      in.close();
    } catch (IOException e) {
      throw WholeFiles.failure("close", file, e);
    }
  }
}
