package dev.millrace.train.data.arrow;

import dev.millrace.base.MillraceException;
import io.airlift.compress.v3.zstd.ZstdInputStream;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A record batch of a file. Its buffers are read when a column is asked for.
 *
 * <p>Threading: one thread at a time.
 */
final class ArrowBatch {
  private static final int PAIR_BYTES = 16;
  private static final int LZ4 = 0;
  private static final int ZSTD = 1;

  /** What a column may have in all, decompressed. */
  private static final long MOST_BYTES = 1 << 30;

  /** Where the buffers of a field begin, and which validities of structures around it count too. */
  private record Place(ArrowField field, int buffer, int node, List<Integer> around, Place child) {}

  private final ArrowFile file;
  private final FileChannel channel;
  private final ArrowFile.Block block;
  private final FlatTable batch;
  private final int rows;

  /** -1 for none. */
  private final int codec;

  private final Map<String, Place> places = new LinkedHashMap<>();
  private int buffers;
  private int nodes;

  ArrowBatch(
      ArrowFile file,
      FileChannel channel,
      ArrowFile.Block block,
      FlatTable batch,
      List<ArrowField> fields)
      throws IOException {
    this.file = file;
    this.channel = channel;
    this.block = block;
    this.batch = batch;
    long length = batch.longNumber(0);
    if (length < 0 || length > Integer.MAX_VALUE) {
      throw new IOException("a record batch has " + length + " rows");
    }
    rows = (int) length;
    FlatTable compression = batch.table(3);
    codec = compression == null ? -1 : compression.byteNumber(0);
    for (ArrowField f : fields) {
      walk(f, List.of());
    }
  }

  int rows() {
    return rows;
  }

  List<String> names() {
    return List.copyOf(places.keySet());
  }

  boolean has(String name) {
    return places.containsKey(name);
  }

  private Place walk(ArrowField field, List<Integer> around) {
    int buffer = buffers;
    int node = nodes++;
    buffers +=
        switch (field.written().kind()) {
          case NULL -> 0;
          case FIXED_LIST, STRUCTURE -> 1;
          case BIT, SIGNED, UNSIGNED, FRACTION, FIXED_STRING, OTHER, LIST -> 2;
          case STRING -> 3;
          case UNKNOWN ->
              throw MillraceException.invalid(
                  "%s: field '%s' is a union, a map, a view or in runs, which are not read. Leave"
                      + " it out of the file.",
                  file.file(), field.name());
        };
    Place child = null;
    if (field.index() == null) {
      List<Integer> inside = new ArrayList<>(around);
      inside.add(buffer);
      for (ArrowField c : field.children()) {
        child = field.kind() == ArrowField.Kind.STRUCTURE ? walk(c, inside) : walk(c, List.of());
      }
    }
    Place place = new Place(field, buffer, node, around, child);
    if (field.isList() && child != null) {
      places.remove(child.field.name()); // the values of a list have no name of their own
    }
    places.put(field.name(), place);
    return place;
  }

  /** The column of this name. */
  ArrowColumn column(String name) throws IOException {
    return column(places.get(name), rows);
  }

  private ArrowColumn column(Place p, int count) throws IOException {
    ArrowField written = p.field.written();
    if (written.kind() == ArrowField.Kind.NULL) {
      return new ArrowColumn(p.field, List.of(new byte[(count + 7) / 8]), null, null, null, null);
    }
    List<byte[]> validities = new ArrayList<>();
    for (int b : p.around) {
      add(validities, buffer(b));
    }
    add(validities, buffer(p.buffer));
    return switch (written.kind()) {
      case STRING ->
          new ArrowColumn(
              p.field, validities, buffer(p.buffer + 1), buffer(p.buffer + 2), null, null);
      case LIST ->
          new ArrowColumn(
              p.field,
              validities,
              buffer(p.buffer + 1),
              null,
              column(p.child, length(p.child)),
              null);
      case FIXED_LIST ->
          new ArrowColumn(p.field, validities, null, null, column(p.child, length(p.child)), null);
      case STRUCTURE, OTHER, UNKNOWN, NULL ->
          new ArrowColumn(p.field, validities, null, null, null, null);
      default ->
          new ArrowColumn(
              p.field,
              validities,
              null,
              buffer(p.buffer + 1),
              null,
              p.field.index() == null ? null : file.dictionary(channel, p.field.dictionary()));
    };
  }

  private int length(Place p) throws IOException {
    long n = batch.longOf(1, p.node, PAIR_BYTES, 0);
    if (n < 0 || n > Integer.MAX_VALUE) {
      throw new IOException("a list has " + n + " values");
    }
    return (int) n;
  }

  /** Where all values are there, there need be no bits. */
  private static void add(List<byte[]> validities, byte[] bits) {
    if (bits.length > 0) {
      validities.add(bits);
    }
  }

  private byte[] buffer(int i) throws IOException {
    if (i >= batch.count(2)) {
      throw new IOException("a record batch has too few buffers");
    }
    long offset = batch.longOf(2, i, PAIR_BYTES, 0);
    long length = batch.longOf(2, i, PAIR_BYTES, 8);
    if (offset < 0 || length < 0 || length > block.body() - offset || length > MOST_BYTES) {
      throw new IOException("a buffer of " + length + " bytes lies outside of its record batch");
    }
    byte[] bytes = ArrowFile.bytes(channel, block.bodyOffset() + offset, (int) length).array();
    if (codec < 0 || length == 0) {
      return bytes;
    }
    long size = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getLong(0);
    if (size < -1 || size > MOST_BYTES) {
      throw new IOException("a buffer has " + size + " bytes");
    }
    return size < 0
        ? Arrays.copyOfRange(bytes, Long.BYTES, bytes.length)
        : decompressed(bytes, (int) size);
  }

  private byte[] decompressed(byte[] bytes, int size) throws IOException {
    if (codec == LZ4) {
      return Lz4Frame.decompress(bytes, Long.BYTES, size);
    }
    if (codec != ZSTD) {
      throw new IOException("it is compressed by a codec of number " + codec);
    }
    try (InputStream in =
        new ZstdInputStream(
            new ByteArrayInputStream(bytes, Long.BYTES, bytes.length - Long.BYTES))) {
      byte[] out = in.readNBytes(size);
      if (out.length < size || in.read() >= 0) {
        throw new IOException("a compressed buffer has not the size it should have");
      }
      return out;
    }
  }
}
