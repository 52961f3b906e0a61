package dev.millrace.storage;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ThreadLocalRandom;
import java.util.zip.CRC32C;

/**
 * A file being written that takes its name only when it is complete and on disk: whoever looks sees
 * the old file or the new one, also after a crash. Closed before {@link #publish}, it leaves
 * nothing behind.
 */
public final class AtomicFile implements AutoCloseable {
  /** Size of the buffer that gathers writes. */
  private static final int GATHER_BYTES = 256 << 10;

  /** Size of the pieces in which immutable memory is written, without a copy. */
  private static final int CHUNK_BYTES = 1 << 20;

  private final Path target;
  private final Path temporary;
  private final FileChannel channel;
  private final ByteBuffer gathered = ByteBuffer.allocateDirect(GATHER_BYTES);
  private long position;
  private boolean published;

  /** Starts a file that will be {@code target}; the directory must exist. */
  AtomicFile(Path target) {
    this.target = target;
    String random = Long.toHexString(ThreadLocalRandom.current().nextLong());
    this.temporary = target.resolveSibling(target.getFileName() + ".tempstate" + random);
    try {
      channel =
          FileChannel.open(temporary, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    } catch (IOException e) {
      throw Failures.io("Cannot create", temporary, e);
    }
  }

  /** Writes a whole file in one go: when this returns, it is on disk under its name. */
  public static void write(Path target, byte[] contents) {
    try (AtomicFile file = new AtomicFile(target)) {
      file.write(ByteBuffer.wrap(contents));
      file.seal();
      file.publish();
    }
    syncDirectory(target.toAbsolutePath().getParent());
  }

  /** Bytes written so far. */
  long position() {
    return position;
  }

  /** Appends what remains of {@code bytes}. */
  void write(ByteBuffer bytes) {
    position += bytes.remaining();
    while (bytes.remaining() > gathered.remaining()) {
      int n = gathered.remaining();
      gathered.put(bytes.slice(bytes.position(), n));
      bytes.position(bytes.position() + n);
      drain();
    }
    gathered.put(bytes);
  }

  /**
   * Appends all of {@code memory}, of any size. Continues {@code crc} over the bytes written, even
   * if the memory changes meanwhile.
   */
  void write(MemorySegment memory, CRC32C crc) {
    for (long at = 0; at < memory.byteSize(); ) {
      if (!gathered.hasRemaining()) {
        drain();
      }
      int start = gathered.position();
      int n = (int) Math.min(gathered.remaining(), memory.byteSize() - at);
      gathered.put(memory.asSlice(at, n).asByteBuffer());
      // Checksum of the copy: the memory itself may have changed by now.
      crc.update(gathered.slice(start, n));
      at += n;
    }
    position += memory.byteSize();
  }

  /** Appends memory that does not change meanwhile; does not copy large memory. */
  void writeStable(MemorySegment memory, CRC32C crc) {
    if (memory.byteSize() <= GATHER_BYTES) {
      write(memory, crc);
      return;
    }
    drain();
    // Piece by piece, so that the system finds in the cache what the checksum brought there.
    for (long at = 0; at < memory.byteSize(); at += CHUNK_BYTES) {
      long n = Math.min(CHUNK_BYTES, memory.byteSize() - at);
      ByteBuffer piece = memory.asSlice(at, n).asByteBuffer();
      crc.update(piece.duplicate());
      writeThrough(piece);
    }
    position += memory.byteSize();
  }

  private void drain() {
    gathered.flip();
    writeThrough(gathered);
    gathered.clear();
  }

  private void writeThrough(ByteBuffer bytes) {
    try {
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
    } catch (IOException e) {
      throw Failures.io("Cannot write", temporary, e);
    }
  }

  /** Brings everything to disk, still under the temporary name. Nothing can be added after. */
  void seal() {
    drain();
    try {
      channel.force(true);
      channel.close();
    } catch (IOException e) {
      throw Failures.io("Cannot write", temporary, e);
    }
  }

  /** Gives the sealed file its name, in place of any file that has it. */
  void publish() {
    publishAs(target);
  }

  /** Gives the sealed file another name in the same directory. */
  void publishAs(Path name) {
    move(temporary, name);
    published = true;
  }

  /** Drops the file unless it has been published. */
  @Override
  public void close() {
    if (published) {
      return;
    }
    try {
      channel.close();
      Files.deleteIfExists(temporary);
    } catch (IOException e) {
      throw Failures.io("Cannot remove", temporary, e);
    }
  }

  /** Renames within one file system, in one step. */
  static void move(Path from, Path to) {
    try {
      Files.move(from, to, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      throw Failures.io("Cannot rename " + from + " to", to, e);
    }
  }

  /**
   * Gives a folder, whose contents are on disk, another name beside it, in place of an empty one
   * that may have it.
   */
  public static void moveFolder(Path from, Path to) {
    syncDirectory(from);
    move(from, to);
    syncDirectory(to.toAbsolutePath().getParent());
  }

  /** Brings the names in a directory to disk: without this a rename may be lost in a crash. */
  static void syncDirectory(Path directory) {
    try (FileChannel d = FileChannel.open(directory, StandardOpenOption.READ)) {
      d.force(true);
    } catch (IOException e) {
      throw Failures.io("Cannot sync", directory, e);
    }
  }

  /**
   * Makes a directory and its parents where they do not exist yet, and brings their names to disk:
   * what is in a directory that a crash takes away was never safe.
   */
  static void makeDirectories(Path directory) {
    Path above = directory.toAbsolutePath();
    Deque<Path> parents = new ArrayDeque<>();
    while (above != null && !Files.exists(above)) {
      above = above.getParent();
      parents.push(above);
    }
    try {
      Files.createDirectories(directory);
    } catch (IOException e) {
      throw Failures.io("Cannot create", directory, e);
    }
    parents.forEach(AtomicFile::syncDirectory);
  }
}
