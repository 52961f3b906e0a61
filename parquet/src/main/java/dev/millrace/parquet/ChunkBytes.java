package dev.millrace.parquet;

import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.zip.CRC32;
import org.apache.parquet.format.PageHeader;
import org.apache.parquet.format.Util;

/**
 * The bytes of a column of a row group, read from its file a piece at a time.
 *
 * <p>Threading: one thread at a time.
 */
final class ChunkBytes {
  private static final int PIECE_BYTES = 1 << 17;

  private final FileChannel channel;

  /** Where in the file the bytes behind the buffer are, and where the column ends. */
  private long next;

  private final long end;
  private byte[] buffer = new byte[0];
  private int at;
  private int limit;

  ChunkBytes(FileChannel channel, long from, long length) {
    this.channel = channel;
    next = from;
    end = from + length;
  }

  /** The header of the next page. Its size is not known before it is read. */
  PageHeader header() throws IOException {
    for (int room = 256; ; room *= 16) {
      int there = (int) Math.min(room, limit - at + end - next);
      fill(there);
      ByteArrayInputStream in = new ByteArrayInputStream(buffer, at, there);
      try {
        PageHeader header = Util.readPageHeader(in);
        at += there - in.available();
        return header;
      } catch (IOException | RuntimeException e) {
        if (there < room) {
          throw e;
        }
      }
    }
  }

  /** Makes the next {@code n} bytes those of the buffer from {@link #at} on. */
  void fill(int n) throws IOException {
    if (n < 0 || n > limit - at + end - next) {
      throw new EOFException("a page goes beyond its column");
    }
    if (limit - at >= n) {
      return;
    }
    int kept = limit - at;
    int size = (int) Math.min(Math.max(n, PIECE_BYTES), kept + end - next);
    byte[] to = size > buffer.length ? new byte[size] : buffer;
    System.arraycopy(buffer, at, to, 0, kept);
    buffer = to;
    at = 0;
    limit = kept;
    ByteBuffer into = ByteBuffer.wrap(buffer, kept, size - kept);
    while (into.hasRemaining()) {
      int read = channel.read(into, next);
      if (read < 0) {
        throw new EOFException("the file is shorter than it was");
      }
      next += read;
      limit += read;
    }
  }

  byte[] buffer() {
    return buffer;
  }

  int at() {
    return at;
  }

  /** Checks the bytes of the page, which are in the buffer, if there is a checksum. */
  void check(PageHeader header) throws IOException {
    if (header.isSetCrc()) {
      CRC32 crc = new CRC32();
      crc.update(buffer, at, header.getCompressed_page_size());
      if ((int) crc.getValue() != header.getCrc()) {
        throw new IOException("a page does not match its checksum");
      }
    }
  }

  /** Passes over {@code n} bytes, which need not be read. */
  void skip(long n) throws IOException {
    if (n < 0 || n > limit - at + end - next) {
      throw new EOFException("a page goes beyond its column");
    }
    int buffered = (int) Math.min(n, limit - at);
    at += buffered;
    next += n - buffered;
  }
}
