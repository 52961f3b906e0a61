package dev.millrace.storage.table;

import com.google.protobuf.ByteString;
import dev.millrace.storage.Checksum;
import dev.millrace.storage.Failures;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Reads a table in LevelDB's format. Verifies everything it reads and fails with DATA_LOSS if the
 * file is damaged.
 */
public final class TableReader implements AutoCloseable {
  private final Path file;
  private final FileChannel channel;
  private final long size;

  private TableReader(Path file) throws IOException {
    this.file = file;
    this.channel = FileChannel.open(file, StandardOpenOption.READ);
    this.size = channel.size();
  }

  /** Passes every entry of the table in {@code file} to {@code visitor}, in key order. */
  public static void scan(Path file, BiConsumer<ByteString, ByteString> visitor) {
    scan(file, null, visitor);
  }

  /**
   * The value of {@code key} in the table in {@code file}, or null. Reads only one block of
   * entries.
   */
  public static ByteString find(Path file, ByteString key) {
    ByteString[] found = new ByteString[1];
    scan(
        file,
        key,
        (k, value) -> {
          if (k.equals(key)) {
            found[0] = value;
          }
        });
    return found[0];
  }

  private static void scan(
      Path file, @Nullable ByteString only, BiConsumer<ByteString, ByteString> visitor) {
    try (TableReader table = new TableReader(file)) {
      table.scan(only, visitor);
    } catch (IOException e) {
      throw Failures.io("Cannot read", file, e);
    }
  }

  /**
   * Visits the entries of the blocks that may contain the key {@code only}; all blocks if it is
   * null.
   */
  private void scan(@Nullable ByteString only, BiConsumer<ByteString, ByteString> visitor)
      throws IOException {
    if (size < TableWriter.FOOTER_BYTES) {
      throw Failures.corrupt(
          file, "cut short: %d bytes, a table has at least %d.", size, TableWriter.FOOTER_BYTES);
    }
    ByteBuffer footer = read(size - TableWriter.FOOTER_BYTES, TableWriter.FOOTER_BYTES);
    if (footer.getLong(TableWriter.FOOTER_BYTES - 8) != TableWriter.MAGIC) {
      throw Failures.corrupt(
          file, "does not end as a table does: it is cut short or another kind of file.");
    }
    Cursor handles = new Cursor(bytes(footer), 0, TableWriter.FOOTER_BYTES - 8);
    handles.varint();
    handles.varint();
    byte[] index = block(handles);
    ByteString[] last = new ByteString[1];
    ByteString[] before = new ByteString[1];
    entries(
        index,
        (separator, handle) -> {
          // Keys of a block are at most its separator and greater than the previous separator.
          ByteString above = before[0];
          before[0] = separator;
          if (only != null
              && (TableWriter.KEY_ORDER.compare(only, separator) > 0
                  || (above != null && TableWriter.KEY_ORDER.compare(only, above) <= 0))) {
            return;
          }
          byte[] bytes = handle.toByteArray();
          byte[] block = blockUnchecked(new Cursor(bytes, 0, bytes.length));
          entries(
              block,
              (key, value) -> {
                if (last[0] != null && TableWriter.KEY_ORDER.compare(last[0], key) >= 0) {
                  throw Failures.corrupt(file, "its keys are not in order: it is damaged.");
                }
                last[0] = key;
                visitor.accept(key, value);
              });
        });
  }

  private byte[] blockUnchecked(Cursor handle) {
    try {
      return block(handle);
    } catch (IOException e) {
      throw Failures.io("Cannot read", file, e);
    }
  }

  /** The contents of the block at the next handle, verified and decompressed. */
  private byte[] block(Cursor handle) throws IOException {
    long offset = handle.varint();
    long length = handle.varint();
    if (offset < 0
        || length < 0
        || length > Integer.MAX_VALUE - 64
        || offset > size - TableWriter.TRAILER_BYTES - length) {
      throw Failures.corrupt(
          file,
          "a block of %d bytes at byte %d does not fit a file of %d bytes: the file is damaged or"
              + " cut short.",
          length,
          offset,
          size);
    }
    int n = (int) length;
    ByteBuffer block = read(offset, n + TableWriter.TRAILER_BYTES);
    if (Checksum.masked(bytes(block), 0, n + 1) != block.getInt(n + 1)) {
      throw Failures.corrupt(
          file, "the block at byte %d does not match its checksum: it is damaged.", offset);
    }
    byte[] contents = Arrays.copyOf(bytes(block), n);
    return switch (block.get(n)) {
      case TableWriter.UNCOMPRESSED -> contents;
      case TableWriter.SNAPPY -> decompress(contents, offset);
      default ->
          throw Failures.corrupt(
              file, "the block at byte %d is of unknown kind %d.", offset, block.get(n));
    };
  }

  private byte[] decompress(byte[] contents, long offset) {
    try {
      return Snappy.decompress(contents);
    } catch (Snappy.MalformedException e) {
      throw Failures.corrupt(
          file, "the block at byte %d cannot be decompressed: %s.", offset, e.getMessage());
    }
  }

  private void entries(byte[] block, BiConsumer<ByteString, ByteString> visitor) {
    int restarts = block.length < 4 ? -1 : little32(block, block.length - 4);
    if (restarts < 0 || restarts > (block.length - 4) / 4) {
      throw Failures.corrupt(file, "a block has no room for its %d restarts.", restarts);
    }
    Cursor in = new Cursor(block, 0, block.length - 4 - 4 * restarts);
    byte[] key = new byte[0];
    while (in.hasMore()) {
      long shared = in.varint();
      long rest = in.varint();
      long valueLength = in.varint();
      if (shared < 0 || shared > key.length) {
        throw Failures.corrupt(file, "an entry shares more with its predecessor than that has.");
      }
      int from = in.take(rest);
      byte[] next = Arrays.copyOf(key, (int) (shared + rest));
      System.arraycopy(block, from, next, (int) shared, (int) rest);
      key = next;
      int value = in.take(valueLength);
      visitor.accept(
          ByteString.copyFrom(key), ByteString.copyFrom(block, value, (int) valueLength));
    }
  }

  private static int little32(byte[] b, int at) {
    return ByteBuffer.wrap(b).order(ByteOrder.LITTLE_ENDIAN).getInt(at);
  }

  @SuppressWarnings("ByteBufferBackingArray") // read() makes the whole array.
  private static byte[] bytes(ByteBuffer b) {
    return b.array();
  }

  private ByteBuffer read(long offset, int length) throws IOException {
    ByteBuffer b = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    while (b.hasRemaining()) {
      if (channel.read(b, offset + b.position()) < 0) {
        throw Failures.corrupt(file, "became shorter while being read.");
      }
    }
    return b;
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }

  /** Reads varints and byte ranges from a part of an array, never beyond its end. */
  private final class Cursor {
    private final byte[] bytes;
    private final int end;
    private int at;

    Cursor(byte[] bytes, int from, int end) {
      this.bytes = bytes;
      this.at = from;
      this.end = end;
    }

    boolean hasMore() {
      return at < end;
    }

    long varint() {
      long v = 0;
      for (int shift = 0; shift < 64 && at < end; shift += 7) {
        byte b = bytes[at++];
        v |= (long) (b & 0x7F) << shift;
        if (b >= 0) {
          return v;
        }
      }
      throw Failures.corrupt(file, "a number in it has no end: it is damaged.");
    }

    /** Skips {@code n} bytes and returns their position. */
    int take(long n) {
      if (n < 0 || n > end - at) {
        throw Failures.corrupt(file, "an entry is longer than its block: it is damaged.");
      }
      int from = at;
      at += (int) n;
      return from;
    }
  }
}
