package dev.millrace.storage.checkpoint;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.BundleEntryProto;
import dev.millrace.storage.Checksum;
import dev.millrace.storage.Failures;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * The data files of a bundle, opened when first needed.
 *
 * <p>Threading: any number of threads may read at once.
 */
final class BundleData implements AutoCloseable {
  private static final int CHUNK_BYTES = 1 << 20;

  private final Path prefix;
  private final int shards;

  /** By shard; null where not opened yet. Guarded by this. */
  private final Map<Integer, FileChannel> open = new HashMap<>();

  private boolean closed;

  BundleData(Path prefix, int shards) {
    this.prefix = prefix;
    this.shards = shards;
  }

  /**
   * Checks that a stored piece lies within its file and has the size that its type and shape
   * require.
   */
  void check(String name, BundleEntryProto entry, DType dtype, Shape shape) {
    if (entry.getShardId() < 0 || entry.getShardId() >= shards) {
      throw Failures.corrupt(
          BundleIndex.file(prefix),
          "tensor '%s' is in data file %d of %d.",
          name,
          entry.getShardId(),
          shards);
    }
    long offset = entry.getOffset();
    long size = entry.getSize();
    long fileSize = sizeOf(name, entry.getShardId());
    if (offset < 0 || size < 0 || offset > fileSize || size > fileSize - offset) {
      throw Failures.corrupt(
          file(entry.getShardId()),
          "cut short: tensor '%s' has %d bytes at byte %d, but the file has only %d bytes. Use an"
              + " earlier checkpoint.",
          name,
          size,
          offset,
          fileSize);
    }
    // The order matters: the file size bounds the product, which then cannot overflow.
    boolean fits =
        dtype.isPlain()
            ? size % dtype.bytes() == 0 && size / dtype.bytes() == shape.elements()
            : shape.elements() <= Math.min(size, Integer.MAX_VALUE);
    if (!fits) {
      throw Failures.corrupt(
          BundleIndex.file(prefix),
          "tensor '%s' has %d bytes, which is not what a %s of shape %s has.",
          name,
          size,
          dtype,
          shape);
    }
  }

  /** Reads a checked piece and copies its overlap with the wanted slice to {@code out}. */
  void read(String name, BundleEntryProto entry, Shape shape, CommonRuns runs, Tensor out) {
    CRC32C crc = new CRC32C();
    FileChannel channel = channel(name, entry.getShardId());
    try {
      if (!out.dtype().isPlain()) {
        readStrings(name, channel, entry, (int) shape.elements(), runs, out, crc);
      } else if (runs.isIdentity()) {
        readWhole(name, channel, entry, out.data(), crc);
      } else {
        readRuns(name, channel, entry, runs, out, crc);
      }
    } catch (IOException e) {
      throw Failures.io("Cannot read", file(entry.getShardId()), e);
    }
    checkSum(name, entry, crc);
  }

  /** Reads a piece whose bounds were checked, and verifies its checksum. */
  void verify(String name, BundleEntryProto entry, DType dtype, Shape shape) {
    CRC32C crc = new CRC32C();
    FileChannel channel = channel(name, entry.getShardId());
    try {
      if (dtype.isPlain()) {
        readThrough(name, channel, entry, crc);
      } else {
        strings(name, channel, entry, (int) shape.elements(), crc);
      }
    } catch (IOException e) {
      throw Failures.io("Cannot read", file(entry.getShardId()), e);
    }
    checkSum(name, entry, crc);
  }

  private void checkSum(String name, BundleEntryProto entry, CRC32C crc) {
    if (Checksum.masked(crc) != entry.getCrc32C()) {
      throw damage(name, entry, "does not match its checksum");
    }
  }

  private void readThrough(String name, FileChannel channel, BundleEntryProto entry, CRC32C crc)
      throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment chunk = arena.allocate(Math.min(CHUNK_BYTES, entry.getSize()));
      for (long at = 0; at < entry.getSize(); at += CHUNK_BYTES) {
        long n = Math.min(CHUNK_BYTES, entry.getSize() - at);
        ByteBuffer bytes = chunk.asSlice(0, n).asByteBuffer();
        fill(name, channel, entry, at, bytes);
        crc.update(bytes);
      }
    }
  }

  private void readWhole(
      String name, FileChannel channel, BundleEntryProto entry, MemorySegment into, CRC32C crc)
      throws IOException {
    for (long at = 0; at < entry.getSize(); at += CHUNK_BYTES) {
      long n = Math.min(CHUNK_BYTES, entry.getSize() - at);
      ByteBuffer chunk = into.asSlice(at, n).asByteBuffer();
      fill(name, channel, entry, at, chunk);
      crc.update(chunk);
    }
  }

  /** Reads the whole piece through a small buffer, for the checksum, and copies the runs. */
  private void readRuns(
      String name,
      FileChannel channel,
      BundleEntryProto entry,
      CommonRuns runs,
      Tensor out,
      CRC32C crc)
      throws IOException {
    long unit = out.dtype().bytes();
    MemorySegment target = out.data();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment chunk = arena.allocate(Math.min(CHUNK_BYTES, entry.getSize()));
      boolean more = runs.next();
      for (long at = 0; at < entry.getSize(); at += CHUNK_BYTES) {
        long end = at + Math.min(CHUNK_BYTES, entry.getSize() - at);
        ByteBuffer bytes = chunk.asSlice(0, end - at).asByteBuffer();
        fill(name, channel, entry, at, bytes);
        crc.update(bytes);
        while (more && runs.from() * unit < end) {
          long runStart = runs.from() * unit;
          long runEnd = runStart + runs.length() * unit;
          long from = Math.max(runStart, at);
          long n = Math.min(runEnd, end) - from;
          MemorySegment.copy(chunk, from - at, target, runs.to() * unit + (from - runStart), n);
          if (runEnd > end) {
            break;
          }
          more = runs.next();
        }
      }
    }
  }

  private void readStrings(
      String name,
      FileChannel channel,
      BundleEntryProto entry,
      int count,
      CommonRuns runs,
      Tensor out,
      CRC32C crc)
      throws IOException {
    Object[] strings = strings(name, channel, entry, count, crc);
    while (runs.next()) {
      System.arraycopy(
          strings, (int) runs.from(), out.objects(), (int) runs.to(), (int) runs.length());
    }
  }

  private Object[] strings(
      String name, FileChannel channel, BundleEntryProto entry, int count, CRC32C crc)
      throws IOException {
    return StringEncoding.read(
        channel,
        entry.getOffset(),
        entry.getSize(),
        count,
        crc,
        problem -> damage(name, entry, problem));
  }

  private void fill(
      String name, FileChannel channel, BundleEntryProto entry, long at, ByteBuffer into)
      throws IOException {
    long position = entry.getOffset() + at;
    while (into.hasRemaining()) {
      int got = channel.read(into, position);
      if (got < 0) {
        throw damage(name, entry, "is cut short");
      }
      position += got;
    }
    into.flip();
  }

  private MillraceException damage(String name, BundleEntryProto entry, String problem) {
    return Failures.corrupt(
        file(entry.getShardId()),
        "tensor '%s' (%d bytes at byte %d) %s: the file is damaged. Use an earlier checkpoint.",
        name,
        entry.getSize(),
        entry.getOffset(),
        problem);
  }

  private Path file(int shard) {
    return BundleIndex.dataFile(prefix, shard, shards);
  }

  private long sizeOf(String name, int shard) {
    try {
      return channel(name, shard).size();
    } catch (IOException e) {
      throw Failures.io("Cannot read", file(shard), e);
    }
  }

  private synchronized FileChannel channel(String name, int shard) {
    if (closed) {
      throw new IllegalStateException("checkpoint " + prefix + " has been closed");
    }
    FileChannel channel = open.get(shard);
    if (channel == null || !channel.isOpen()) {
      Path file = file(shard);
      try {
        channel = FileChannel.open(file, StandardOpenOption.READ);
      } catch (NoSuchFileException e) {
        throw new MillraceException(
            Code.DATA_LOSS,
            String.format(
                "Checkpoint %s: the data file %s, in which tensor '%s' is, is missing. Copy all"
                    + " files of a checkpoint, or use an earlier one.",
                prefix, file, name),
            e);
      } catch (IOException e) {
        throw Failures.io("Cannot read", file, e);
      }
      open.put(shard, channel);
    }
    return channel;
  }

  @Override
  public synchronized void close() {
    closed = true;
    for (FileChannel channel : open.values()) {
      try {
        channel.close();
      } catch (IOException e) {
        throw Failures.io("Cannot close", prefix, e);
      }
    }
  }
}
