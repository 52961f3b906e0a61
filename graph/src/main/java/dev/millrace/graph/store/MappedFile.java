package dev.millrace.graph.store;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A file that this process has mapped. What is written there belongs to the page cache at once, and
 * so outlives the process.
 *
 * <p>Room on the disk is taken by {@link #reserve} before it is written to: a write to a mapped
 * page for which there is none ends the process.
 *
 * <p>Threading: one thread at a time.
 */
final class MappedFile implements AutoCloseable {
  private static final int ZEROS = 1 << 20;

  private final Path path;
  private final FileChannel channel;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment memory;

  /** Up to where the disk has room for it. */
  private long reserved;

  private MappedFile(Path path, FileChannel channel, MemorySegmentOf map, long reserved)
      throws IOException {
    this.path = path;
    this.channel = channel;
    this.reserved = reserved;
    this.memory = map.in(arena);
  }

  @FunctionalInterface
  private interface MemorySegmentOf {
    MemorySegment in(Arena arena) throws IOException;
  }

  /** Maps {@code bytes} of a file, which is made if there is none. */
  static MappedFile open(Path path, long bytes) {
    FileChannel channel = null;
    try {
      long present = Files.exists(path) ? Files.size(path) : 0;
      channel =
          FileChannel.open(
              path, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE);
      FileChannel opened = channel;
      return new MappedFile(
          path,
          channel,
          arena -> opened.map(FileChannel.MapMode.READ_WRITE, 0, bytes, arena),
          // A file of full length has been reserved, or has holes from the length on that was.
          present >= bytes ? 0 : present);
    } catch (IOException e) {
      closeQuietly(channel);
      throw StoreFailures.io("Cannot map", path, e);
    }
  }

  private static void closeQuietly(FileChannel channel) {
    if (channel != null) {
      try {
        channel.close();
      } catch (IOException e) {
        // The failure that led here is the one to report.
      }
    }
  }

  Path path() {
    return path;
  }

  MemorySegment memory() {
    return memory;
  }

  /** Says that the disk has room for the first {@code bytes}. */
  void reservedBefore(long bytes) {
    reserved = Math.max(reserved, bytes);
  }

  /** Takes room on the disk up to {@code end}. What was not reserved before becomes zero. */
  void reserve(long end) {
    try {
      ByteBuffer zeros = null;
      while (reserved < end) {
        if (zeros == null) {
          zeros = ByteBuffer.allocateDirect((int) Math.min(ZEROS, memory.byteSize()));
        }
        zeros.clear().limit((int) Math.min(zeros.capacity(), memory.byteSize() - reserved));
        reserved += channel.write(zeros, reserved);
      }
    } catch (IOException e) {
      throw StoreFailures.io("Cannot write", path, e);
    }
  }

  @Override
  public void close() {
    arena.close();
    closeQuietly(channel);
  }

  /** Closes the file and removes it. */
  void delete() {
    close();
    try {
      Files.deleteIfExists(path);
    } catch (IOException e) {
      throw StoreFailures.io("Cannot remove", path, e);
    }
  }
}
