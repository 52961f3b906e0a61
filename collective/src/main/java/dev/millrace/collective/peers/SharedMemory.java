package dev.millrace.collective.peers;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * Memory that several ranks see: a mapped file between processes, plain memory between threads. It
 * lives as long as this object is reachable, whatever is closed, so no tensor in it can dangle.
 *
 * <p>Threading: any thread.
 */
final class SharedMemory {
  private static final int ZEROS_BYTES = 1 << 20;

  /** Keeps the memory from being given back; see {@link #plain}. */
  private final MemorySegment backing;

  /** The same memory without a scope, so that loops see one class of segment. */
  private final MemorySegment plain;

  /** Null between threads. */
  private final FileChannel file;

  private SharedMemory(MemorySegment backing, FileChannel file) {
    this.backing = backing;
    this.plain = MemorySegment.ofAddress(backing.address()).reinterpret(backing.byteSize());
    this.file = file;
  }

  /** Zeroed memory for the threads of this process. */
  static SharedMemory inProcess(long bytes) {
    return new SharedMemory(Arena.ofAuto().allocate(bytes, 4096), null);
  }

  /** A new file that only this user can open, mapped whole; nothing of it is claimed yet. */
  static SharedMemory create(Path path, long bytes) throws IOException {
    Files.createFile(
        path, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    return open(path, bytes);
  }

  /** A file another rank has created. */
  static SharedMemory open(Path path, long bytes) throws IOException {
    FileChannel file = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
    try {
      // Extends the file without claiming memory for it.
      return new SharedMemory(
          file.map(FileChannel.MapMode.READ_WRITE, 0, bytes, Arena.ofAuto()), file);
    } catch (IOException | RuntimeException | OutOfMemoryError e) {
      file.close();
      throw e;
    }
  }

  /** All of it. Valid as long as this object is reachable. */
  MemorySegment segment() {
    return plain;
  }

  /**
   * Zeroes a range and has it backed by memory. Touching a page that the system cannot back would
   * end the process; writing to the file says so instead.
   */
  void claim(long from, long to) throws IOException {
    if (file == null) {
      backing.asSlice(from, to - from).fill((byte) 0);
      return;
    }
    ByteBuffer zeros = ByteBuffer.allocateDirect((int) Math.min(ZEROS_BYTES, to - from));
    for (long at = from; at < to; ) {
      zeros.clear().limit((int) Math.min(zeros.capacity(), to - at));
      at += file.write(zeros, at);
    }
  }
}
