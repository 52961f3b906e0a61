package dev.millrace.storage.table;

import com.google.protobuf.ByteString;
import dev.millrace.base.MillraceException;
import dev.millrace.storage.AtomicFile;
import dev.millrace.storage.Checksum;
import dev.millrace.storage.VarintBuffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Comparator;
import org.jspecify.annotations.Nullable;

/**
 * Writes an immutable sorted table of keys and values in LevelDB's table format: blocks of entries,
 * an empty metaindex block, an index of the blocks, and a footer with the position of the index.
 *
 * <p>Threading: one thread at a time.
 */
public final class TableWriter {
  static final long MAGIC = 0xdb4775248b80fb57L;
  static final int FOOTER_BYTES = 48;

  /** Every block is followed by one byte for its type and four bytes of checksum. */
  static final int TRAILER_BYTES = 5;

  static final byte UNCOMPRESSED = 0;
  static final byte SNAPPY = 1;

  public static final Comparator<ByteString> KEY_ORDER =
      ByteString.unsignedLexicographicalComparator();

  private static final int BLOCK_BYTES = 256 << 10;
  private static final int RESTART_INTERVAL = 16;

  private final AtomicFile file;
  private final BlockBuilder data = new BlockBuilder(RESTART_INTERVAL);
  private final BlockBuilder index = new BlockBuilder(1);

  /**
   * The handle of a finished block. Its index entry is written when the first key of the next block
   * is known.
   */
  private byte @Nullable [] pendingHandle;

  private @Nullable ByteString lastKey;

  /** Writes to {@code file}, which must be empty. */
  public TableWriter(AtomicFile file) {
    this.file = file;
  }

  /** Adds an entry. Keys must come in ascending order of their unsigned bytes. */
  public void add(ByteString key, ByteString value) {
    if (lastKey != null && KEY_ORDER.compare(lastKey, key) >= 0) {
      throw MillraceException.internal("table key %s does not come after %s", key, lastKey);
    }
    if (pendingHandle != null && lastKey != null) {
      indexPending(pendingHandle, TableKeys.between(lastKey, key));
    }
    lastKey = key;
    data.add(key.toByteArray(), value.toByteArray());
    if (data.sizeBytes() >= BLOCK_BYTES) {
      pendingHandle = write(data);
    }
  }

  private void indexPending(byte[] handle, ByteString separator) {
    index.add(separator.toByteArray(), handle);
    pendingHandle = null;
  }

  /** Writes the remaining entries, the index and the footer. */
  public void finish() {
    if (!data.isEmpty()) {
      pendingHandle = write(data);
    }
    byte[] metaindexHandle = write(new BlockBuilder(RESTART_INTERVAL));
    if (pendingHandle != null && lastKey != null) {
      indexPending(pendingHandle, TableKeys.after(lastKey));
    }
    byte[] indexHandle = write(index);
    ByteBuffer footer = ByteBuffer.allocate(FOOTER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    footer.put(metaindexHandle).put(indexHandle).putLong(FOOTER_BYTES - 8, MAGIC).clear();
    file.write(footer);
  }

  /** Writes a block and its trailer, empties the builder, and returns the block's handle. */
  private byte[] write(BlockBuilder builder) {
    byte[] block = builder.finish(TRAILER_BYTES);
    int length = block.length - TRAILER_BYTES;
    block[length] = UNCOMPRESSED;
    ByteBuffer.wrap(block)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(length + 1, Checksum.masked(block, 0, length + 1));
    VarintBuffer handle = new VarintBuffer(20);
    handle.putVarint(file.position());
    handle.putVarint(length);
    file.write(ByteBuffer.wrap(block));
    return handle.toBytes();
  }
}
