package dev.millrace.storage.record;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.storage.Checksum;
import dev.millrace.storage.Failures;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.GZIPInputStream;
import java.util.zip.InflaterInputStream;
import java.util.zip.ZipException;
import org.jspecify.annotations.Nullable;

/**
 * Reads the records of a TFRecord file in order. Verifies both checksums of every record. Uses at
 * most about twice the memory of the largest record, whatever lengths a damaged file claims.
 *
 * <p>Threading: one thread at a time.
 */
public final class RecordReader implements AutoCloseable {
  /** How a whole record file is compressed. */
  public enum Compression {
    NONE,
    GZIP,
    ZLIB
  }

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final int BUFFER_BYTES = 256 << 10;
  private static final int MAX_ARRAY = Integer.MAX_VALUE - 64;

  private final Path file;
  private final InputStream in;

  /** Whether an incomplete record at the end is one still being written rather than damage. */
  private final boolean following;

  /** Bytes read but not yet returned are those from {@code start} to {@code end}. */
  private byte[] buffer = new byte[BUFFER_BYTES];

  private int start;
  private int end;

  /** The record last read is from here to {@code to}. */
  private int from;

  private int to;

  /** The position of {@code start} in the (uncompressed) file. */
  private long position;

  private RecordReader(Path file, InputStream in, boolean following) {
    this.file = file;
    this.in = in;
    this.following = following;
  }

  /** Reads an uncompressed file. */
  public static RecordReader open(Path file) {
    return open(file, Compression.NONE);
  }

  /** Reads a file compressed as a whole. */
  public static RecordReader open(Path file, Compression compression) {
    InputStream raw = openRaw(file);
    try {
      InputStream in =
          switch (compression) {
            case NONE -> raw;
            case GZIP -> new GZIPInputStream(raw, BUFFER_BYTES);
            case ZLIB -> new InflaterInputStream(raw);
          };
      return new RecordReader(file, in, false);
    } catch (IOException e) {
      closeQuietly(raw);
      throw failure(file, e);
    }
  }

  /**
   * Reads the records in {@code in}, which gives the uncompressed data of {@code file} from byte
   * {@code position} on, and takes {@code in} over.
   */
  public static RecordReader of(Path file, InputStream in, long position) {
    RecordReader reader = new RecordReader(file, in, false);
    reader.position = position;
    return reader;
  }

  /**
   * Reads a file that another process is writing. An incomplete record counts as the end for now,
   * and {@link #next} may be called again later.
   */
  public static RecordReader follow(Path file) {
    return new RecordReader(file, openRaw(file), true);
  }

  private static InputStream openRaw(Path file) {
    try {
      return Files.newInputStream(file);
    } catch (IOException e) {
      throw Failures.io("Cannot read", file, e);
    }
  }

  /** The next record, or null at the end. A damaged or incomplete one gives DATA_LOSS. */
  public byte @Nullable [] next() {
    return advance() ? Arrays.copyOfRange(buffer, from, to) : null;
  }

  /**
   * Goes to the next record, which is then in {@link #bytes}; false at the end. A damaged or
   * incomplete one gives DATA_LOSS.
   */
  public boolean advance() {
    if (!fill(RecordWriter.HEADER_BYTES)) {
      return endOrTorn(RecordWriter.HEADER_BYTES);
    }
    if (Checksum.masked(buffer, start, 8) != (int) INT.get(buffer, start + 8)) {
      throw Failures.corrupt(
          file,
          "the length of the record at byte %d does not match its checksum. The file is damaged"
              + " there, compressed, or not a TFRecord file.",
          position);
    }
    long length = (long) LONG.get(buffer, start);
    long whole = RecordWriter.HEADER_BYTES + length + RecordWriter.FOOTER_BYTES;
    if (length < 0 || whole > MAX_ARRAY) {
      throw Failures.corrupt(
          file,
          "the record at byte %d has %s bytes; at most %d can be read.",
          position,
          Long.toUnsignedString(length),
          MAX_ARRAY);
    }
    if (!fill((int) whole)) {
      return endOrTorn(whole);
    }
    from = start + RecordWriter.HEADER_BYTES;
    to = from + (int) length;
    if (Checksum.masked(buffer, from, (int) length) != (int) INT.get(buffer, to)) {
      throw Failures.corrupt(
          file, "the record at byte %d does not match its checksum: it is damaged.", position);
    }
    start += (int) whole;
    position += whole;
    return true;
  }

  /** What the record is in, from {@link #from} to {@link #to}, until the next call. */
  public byte[] bytes() {
    return buffer;
  }

  /** Where the record begins in {@link #bytes}. */
  public int from() {
    return from;
  }

  /** Where the record ends in {@link #bytes}. */
  public int to() {
    return to;
  }

  /**
   * Goes on to the first byte at which an undamaged record begins, however far that is; to the end
   * if there is none. Both checksums have to match, so bytes inside of a record are not taken for
   * one, unless a record itself has records in it.
   */
  public void findRecord() {
    while (fill(RecordWriter.HEADER_BYTES)) {
      if (Checksum.masked(buffer, start, 8) == (int) INT.get(buffer, start + 8) && isWhole()) {
        return;
      }
      start++;
      position++;
    }
    position += end - start;
    start = end;
  }

  private boolean isWhole() {
    long length = (long) LONG.get(buffer, start);
    long whole = RecordWriter.HEADER_BYTES + length + RecordWriter.FOOTER_BYTES;
    if (length < 0 || whole > MAX_ARRAY || !fill((int) whole)) {
      return false;
    }
    int data = start + RecordWriter.HEADER_BYTES;
    return Checksum.masked(buffer, data, (int) length)
        == (int) INT.get(buffer, data + (int) length);
  }

  /** The position of the next record in the uncompressed data. */
  public long position() {
    return position;
  }

  private boolean endOrTorn(long needed) {
    if (following || start == end) {
      return false;
    }
    throw Failures.corrupt(
        file,
        "the record at byte %d is cut short: %d bytes of %d are there.",
        position,
        end - start,
        needed);
  }

  /** Reads until the buffer holds at least {@code n} bytes; false if the file has fewer. */
  private boolean fill(int n) {
    while (end - start < n) {
      makeRoom(n);
      int got;
      try {
        got = in.read(buffer, end, buffer.length - end);
      } catch (IOException e) {
        throw failure(file, e);
      }
      if (got < 0) {
        return false;
      }
      end += got;
    }
    return true;
  }

  /**
   * Frees space after {@code end}. Grows the buffer only when it is full of bytes that were really
   * read.
   */
  private void makeRoom(int n) {
    if (start > 0 && (start == end || buffer.length - start < n)) {
      System.arraycopy(buffer, start, buffer, 0, end - start);
      end -= start;
      start = 0;
    }
    if (end == buffer.length) {
      int size = (int) Math.min(Math.max(n, BUFFER_BYTES), 2L * buffer.length);
      buffer = Arrays.copyOf(buffer, size);
    }
  }

  private static MillraceException failure(Path file, IOException e) {
    if (e instanceof ZipException || e instanceof EOFException) {
      return new MillraceException(
          Code.DATA_LOSS,
          file
              + ": cannot be decompressed: "
              + e.getMessage()
              + ". It is damaged, cut short, or"
              + " compressed in another way.",
          e);
    }
    return Failures.io("Cannot read", file, e);
  }

  private static void closeQuietly(InputStream in) {
    try {
      in.close();
    } catch (IOException e) {
      // The caller reports the failure that led to closing.
    }
  }

  @Override
  public void close() {
    try {
      in.close();
    } catch (IOException e) {
      throw Failures.io("Cannot close", file, e);
    }
  }
}
