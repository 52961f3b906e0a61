package dev.millrace.storage.record;

import dev.millrace.storage.Checksum;
import dev.millrace.storage.Failures;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Writes a TFRecord file: a sequence of byte records, each with checksums of its length and its
 * contents. Other processes can read the records after {@link #flush}.
 *
 * <p>Threading: one thread at a time.
 */
public final class RecordWriter implements AutoCloseable {
  private static final int BUFFER_BYTES = 256 << 10;

  /** A record's length and the checksum of it. */
  static final int HEADER_BYTES = 12;

  /** The checksum of the contents. */
  static final int FOOTER_BYTES = 4;

  private final Path file;
  private final FileChannel channel;
  private final ByteBuffer buffer =
      ByteBuffer.allocateDirect(BUFFER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
  private final ByteBuffer length = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN);

  private RecordWriter(Path file, FileChannel channel) {
    this.file = file;
    this.channel = channel;
  }

  /** Starts a new file and replaces an existing one. */
  public static RecordWriter create(Path file) {
    return open(
        file,
        StandardOpenOption.CREATE,
        StandardOpenOption.WRITE,
        StandardOpenOption.TRUNCATE_EXISTING);
  }

  /** Starts a new file. Fails if it exists. */
  static RecordWriter createNew(Path file) {
    return open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
  }

  private static RecordWriter open(Path file, StandardOpenOption... options) {
    try {
      return new RecordWriter(file, FileChannel.open(file, options));
    } catch (IOException e) {
      throw Failures.io("Cannot create", file, e);
    }
  }

  Path file() {
    return file;
  }

  /** Appends one record. After a failure the file may end with an incomplete record. */
  public void write(byte[] record) {
    if (buffer.remaining() < HEADER_BYTES) {
      drain();
    }
    length.putLong(0, record.length);
    buffer.putLong(record.length).putInt(Checksum.masked(length.array(), 0, 8));
    for (int at = 0; at < record.length; ) {
      if (!buffer.hasRemaining()) {
        drain();
      }
      int n = Math.min(buffer.remaining(), record.length - at);
      buffer.put(record, at, n);
      at += n;
    }
    if (buffer.remaining() < FOOTER_BYTES) {
      drain();
    }
    buffer.putInt(Checksum.masked(record, 0, record.length));
  }

  private void drain() {
    buffer.flip();
    try {
      while (buffer.hasRemaining()) {
        channel.write(buffer);
      }
    } catch (IOException e) {
      throw Failures.io("Cannot write", file, e);
    } finally {
      buffer.clear();
    }
  }

  /** Passes all written data to the operating system, so that other processes can read it. */
  public void flush() {
    drain();
  }

  /** Flushes and ends the file. */
  @Override
  public void close() {
    try (channel) {
      if (channel.isOpen()) {
        drain();
      }
    } catch (IOException e) {
      throw Failures.io("Cannot close", file, e);
    }
  }
}
