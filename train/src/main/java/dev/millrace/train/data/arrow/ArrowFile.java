package dev.millrace.train.data.arrow;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.train.data.file.InputFiles;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What the end of an Arrow file says of it, and its dictionaries once they are needed.
 *
 * <p>Threading: any thread.
 */
final class ArrowFile {
  private static final byte[] MAGIC = "ARROW1".getBytes(StandardCharsets.US_ASCII);
  private static final int MOST_METADATA = 256 << 20;
  private static final int BLOCK_BYTES = 24;
  private static final int DICTIONARY = 2;
  private static final int RECORDS = 3;

  private final Path file;
  private final List<ArrowField> fields = new ArrayList<>();
  private final List<Block> dictionaryBlocks = new ArrayList<>();
  private final List<Block> batches = new ArrayList<>();

  /** The parts of each dictionary; null before they are needed. Guarded by this. */
  private Map<Long, List<ArrowColumn>> dictionaries;

  /** Where a message stands: its metadata, and its body behind that. */
  record Block(long offset, int metadata, long body) {
    /** Where the body begins. */
    long bodyOffset() {
      return offset + metadata;
    }
  }

  private ArrowFile(Path file) {
    this.file = file;
  }

  static ArrowFile read(Path file) {
    ArrowFile read = new ArrowFile(file);
    try (FileChannel channel = FileChannel.open(file)) {
      read.footer(channel);
      return read;
    } catch (IOException e) {
      throw read.failure(e);
    } catch (MillraceException e) {
      throw e;
    } catch (RuntimeException e) {
      throw read.damaged("its footer cannot be read", e);
    }
  }

  private void footer(FileChannel channel) throws IOException {
    long size = channel.size();
    byte[] start = size < 4 ? new byte[4] : bytes(channel, 0, (int) Math.min(size, 6)).array();
    if (start[0] == -1 && start[1] == -1 && start[2] == -1 && start[3] == -1) {
      throw MillraceException.invalid(
          "%s is a stream of Arrow messages, which has no list of its parts. Write it as a file:"
              + " pyarrow.ipc.new_file, or pyarrow.feather.write_feather.",
          file);
    }
    int tail = MAGIC.length + 4;
    if (!Arrays.equals(start, MAGIC) || size < 2L * tail) {
      throw damaged("it does not begin as one does", null);
    }
    byte[] end = bytes(channel, size - tail, tail).array();
    int length = ByteBuffer.wrap(end).order(ByteOrder.LITTLE_ENDIAN).getInt(0);
    if (!Arrays.equals(end, 4, tail, MAGIC, 0, MAGIC.length)
        || length <= 0
        || length > MOST_METADATA
        || length > size - tail) {
      throw damaged("it does not end as one does", null);
    }
    FlatTable footer = FlatTable.root(bytes(channel, size - tail - length, length));
    FlatTable schema = footer.table(1);
    if (schema.shortNumber(0) != 0) {
      throw MillraceException.invalid("%s has big-endian numbers, which are not read.", file);
    }
    for (int i = 0; i < schema.count(1); i++) {
      fields.add(ArrowField.of(schema.tableOf(1, i), ""));
    }
    blocks(footer, 2, dictionaryBlocks, size);
    blocks(footer, 3, batches, size);
  }

  private void blocks(FlatTable footer, int field, List<Block> to, long size) {
    for (int i = 0; i < footer.count(field); i++) {
      Block b =
          new Block(
              footer.longOf(field, i, BLOCK_BYTES, 0),
              footer.intOf(field, i, BLOCK_BYTES, 8),
              footer.longOf(field, i, BLOCK_BYTES, 16));
      boolean inside =
          b.offset >= 0
              && b.metadata > 0
              && b.metadata <= MOST_METADATA
              && b.body >= 0
              && b.offset <= size
              && b.body <= size - b.offset
              && b.metadata <= size - b.offset - b.body;
      if (!inside) {
        throw damaged("a part of it lies outside of it", null);
      }
      to.add(b);
    }
  }

  Path file() {
    return file;
  }

  List<ArrowField> fields() {
    return fields;
  }

  List<Block> batches() {
    return batches;
  }

  /** The record batch of a block. */
  ArrowBatch batch(FileChannel channel, Block block) throws IOException {
    return new ArrowBatch(this, channel, block, header(channel, block, RECORDS), fields);
  }

  private FlatTable header(FileChannel channel, Block block, int kind) throws IOException {
    ByteBuffer b = bytes(channel, block.offset, block.metadata);
    // Since version 0.15, -1 stands before the length of the metadata.
    int skipped = b.getInt(0) == -1 ? 8 : 4;
    FlatTable message = FlatTable.root(b.slice(skipped, b.limit() - skipped));
    if (message.byteNumber(1) != kind) {
      throw damaged("a part of it is not what its footer says", null);
    }
    return message.table(2);
  }

  /** The parts of a dictionary, which stand behind each other. */
  synchronized List<ArrowColumn> dictionary(FileChannel channel, long number) throws IOException {
    if (dictionaries == null) {
      Map<Long, List<ArrowColumn>> read = new HashMap<>();
      for (Block block : dictionaryBlocks) {
        FlatTable header = header(channel, block, DICTIONARY);
        long id = header.longNumber(0);
        ArrowField field = fieldOf(fields, id);
        if (field == null || field.values() != field) {
          throw damaged("its dictionary " + id + " is that of no field of single values", null);
        }
        ArrowField values =
            new ArrowField(
                field.name(), field.kind(), field.bytes(), field.wide(), 0, -1, null, List.of());
        ArrowColumn column =
            new ArrowBatch(this, channel, block, header.table(1), List.of(values))
                .column(values.name());
        List<ArrowColumn> parts = read.computeIfAbsent(id, i -> new ArrayList<>());
        if (header.byteNumber(2) == 0) {
          parts.clear();
        }
        parts.add(column);
      }
      dictionaries = read;
    }
    List<ArrowColumn> parts = dictionaries.get(number);
    if (parts == null) {
      throw damaged("its dictionary " + number + " is not there", null);
    }
    return parts;
  }

  private static ArrowField fieldOf(List<ArrowField> fields, long dictionary) {
    for (ArrowField f : fields) {
      ArrowField found = f.dictionary() == dictionary ? f : fieldOf(f.children(), dictionary);
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  /** {@code n} bytes; fails with EOFException if there are fewer. */
  static ByteBuffer bytes(FileChannel channel, long from, int n) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(n).order(ByteOrder.LITTLE_ENDIAN);
    while (buffer.hasRemaining()) {
      if (channel.read(buffer, from + buffer.position()) < 0) {
        throw new EOFException("it is shorter than it says");
      }
    }
    return buffer.flip();
  }

  MillraceException damaged(String why, Exception cause) {
    return new MillraceException(
        Code.DATA_LOSS,
        "%s is damaged, incomplete or not an Arrow file: %s.".formatted(file, why),
        cause);
  }

  /** What is said of a failure to read; those of decoding are plain IOExceptions. */
  MillraceException failure(IOException e) {
    return e.getClass() == IOException.class || e instanceof EOFException
        ? damaged(e.getMessage(), e)
        : InputFiles.unreadable(file, e);
  }
}
