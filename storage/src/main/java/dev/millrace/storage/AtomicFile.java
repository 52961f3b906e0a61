package dev.millrace.storage;

import dev.millrace.base.MillraceException;
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
 * Writes a file that gets its final name only when it is complete and on disk. Readers see the old
 * file or the new one, also after a crash. If closed before {@link #publish}, it leaves no file
 * behind.
 *
 * <p>Threading: one thread at a time.
 */
public final class AtomicFile implements AutoCloseable {
  /** Size of the write buffer. */
  private static final int GATHER_BYTES = 256 << 10;

  /** Size of the chunks in which immutable memory is written without a copy. */
  private static final int CHUNK_BYTES = 1 << 20;

  private final Path target;
  private final Path temporary;
  private final FileChannel channel;
  private final ByteBuffer gathered = ByteBuffer.allocateDirect(GATHER_BYTES);
  private long position;
  private boolean published;

  /** Starts a temporary file for {@code target}, whose directory must exist. */
  public AtomicFile(Path target) {
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

  /** Writes a whole file. When this returns, the file is on disk under its name. */
  public static void write(Path target, byte[] contents) {
    try (AtomicFile file = new AtomicFile(target)) {
      file.write(ByteBuffer.wrap(contents));
      file.seal();
      file.publish();
    }
    syncDirectory(folderOf(target));
  }

  /** Bytes written so far. */
  public long position() {
    return position;
  }

  /** Appends what remains of {@code bytes}. */
  public void write(ByteBuffer bytes) {
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
   * Appends all of {@code memory}. Updates {@code crc} with the bytes that were written, even if
   * the memory changes concurrently.
   */
  public void write(MemorySegment memory, CRC32C crc) {
    for (long at = 0; at < memory.byteSize(); ) {
      if (!gathered.hasRemaining()) {
        drain();
      }
      int start = gathered.position();
      int n = (int) Math.min(gathered.remaining(), memory.byteSize() - at);
      gathered.put(memory.asSlice(at, n).asByteBuffer());
      // Computes the checksum of the copy: the memory itself may have changed since.
      crc.update(gathered.slice(start, n));
      at += n;
    }
    position += memory.byteSize();
  }

  /** Appends memory that no thread changes during the call. Does not copy large memory. */
  public void writeStable(MemorySegment memory, CRC32C crc) {
    if (memory.byteSize() <= GATHER_BYTES) {
      write(memory, crc);
      return;
    }
    drain();
    // Works chunk by chunk: the write then finds the bytes in the cache, where the checksum loaded
    // them.
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

  /** Forces the contents to disk under the temporary name. Nothing can be appended afterwards. */
  public void seal() {
    drain();
    try {
      channel.force(true);
      channel.close();
    } catch (IOException e) {
      throw Failures.io("Cannot write", temporary, e);
    }
  }

  /** Renames the sealed file to its final name and replaces any existing file. */
  public void publish() {
    publishAs(target);
  }

  /** Renames the sealed file to {@code name}, which must be in the same directory. */
  public void publishAs(Path name) {
    move(temporary, name);
    published = true;
  }

  /** Deletes the temporary file unless it was published. */
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

  /** Renames a file atomically within one file system. */
  public static void move(Path from, Path to) {
    try {
      Files.move(from, to, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      throw Failures.io("Cannot rename " + from + " to", to, e);
    }
  }

  /**
   * Renames a folder whose contents are on disk. Replaces {@code to} if that is an empty folder.
   */
  public static void moveFolder(Path from, Path to) {
    syncDirectory(from);
    move(from, to);
    syncDirectory(folderOf(to));
  }

  /** The directory that {@code file} is in, also for a name without one. */
  public static Path folderOf(Path file) {
    Path folder = file.toAbsolutePath().getParent();
    if (folder == null) {
      throw MillraceException.invalid("%s is no file: it is in no directory.", file);
    }
    return folder;
  }

  /** Forces a directory's entries to disk. Without this a crash may undo a rename. */
  public static void syncDirectory(Path directory) {
    try (FileChannel d = FileChannel.open(directory, StandardOpenOption.READ)) {
      d.force(true);
    } catch (IOException e) {
      throw Failures.io("Cannot sync", directory, e);
    }
  }

  /**
   * Creates a directory and its missing parents, and forces their entries to disk. Otherwise a
   * crash could remove the directory together with its files.
   */
  public static void makeDirectories(Path directory) {
    Path above = directory.toAbsolutePath();
    Deque<Path> parents = new ArrayDeque<>();
    while (!Files.exists(above)) {
      above = folderOf(above);
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
