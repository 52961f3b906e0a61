package dev.millrace.cluster.link;

import dev.millrace.base.context.Context;
import dev.millrace.tensor.Buffer;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * A file mapped by two processes that holds one tensor at a time. Its first word says who has it:
 * the sender takes it when free, fills it, and hands it over by a message; the receiver frees it by
 * writing the word, which needs no message.
 */
final class SharedFile {
  /** Before the tensor, so that this is aligned as all tensors are. */
  static final long HEADER = 64;

  private static final VarHandle OWNER = ValueLayout.JAVA_INT.varHandle();
  private static final int FREE = 0;
  private static final int TAKEN = 1;
  private static final int ZEROS_BYTES = 1 << 20;

  final int id;
  private final Path path;
  private final long capacity;
  private final Arena arena;
  private final MemorySegment memory;

  /** Buffers over this memory that somebody in this process may still read. */
  private int lent;

  private boolean closed;
  private long takenNanos = Context.current().timers().now();

  private SharedFile(int id, Path path, long capacity, Arena arena, MemorySegment memory) {
    this.id = id;
    this.path = path;
    this.capacity = capacity;
    this.arena = arena;
    this.memory = memory;
  }

  /** The sender's end: a new file, taken, with memory behind every page of it. */
  static SharedFile create(Path folder, int id, long capacity) throws IOException {
    Path path = path(folder, id);
    Files.createFile(
        path, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    try (FileChannel file = open(path)) {
      // A page that cannot be backed ends the process when touched; written, it is an error.
      ByteBuffer zeros = ByteBuffer.allocateDirect(ZEROS_BYTES);
      for (long at = 0; at < HEADER + capacity; ) {
        zeros.clear().limit((int) Math.min(ZEROS_BYTES, HEADER + capacity - at));
        at += file.write(zeros, at);
      }
    } catch (IOException e) {
      Files.deleteIfExists(path);
      throw e;
    }
    SharedFile f = map(folder, id, capacity);
    OWNER.setRelease(f.memory, 0L, TAKEN);
    return f;
  }

  /** A file of that name and size as this process sees it; for the receiver's end. */
  static SharedFile map(Path folder, int id, long capacity) throws IOException {
    Path path = path(folder, id);
    Arena arena = Arena.ofShared();
    try (FileChannel file = open(path)) {
      if (file.size() != HEADER + capacity) {
        throw new IOException(path + " has " + file.size() + " bytes, not " + (HEADER + capacity));
      }
      return new SharedFile(
          id,
          path,
          capacity,
          arena,
          file.map(FileChannel.MapMode.READ_WRITE, 0, HEADER + capacity, arena));
    } catch (IOException | RuntimeException e) {
      arena.close();
      throw e;
    }
  }

  private static Path path(Path folder, int id) {
    return folder.resolve("tensor-" + id);
  }

  private static FileChannel open(Path path) throws IOException {
    return FileChannel.open(
        path, StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
  }

  long capacity() {
    return capacity;
  }

  /** Takes the file if it is free. Only the sender's end does. */
  synchronized boolean take() {
    if (closed || lent > 0 || (int) OWNER.getAcquire(memory, 0L) != FREE) {
      return false;
    }
    OWNER.setRelease(memory, 0L, TAKEN);
    takenNanos = Context.current().timers().now();
    return true;
  }

  /** Whether it was last taken that long ago. */
  synchronized boolean isUnusedFor(long nanos) {
    return Context.current().timers().now() - takenNanos >= nanos;
  }

  /** The memory as a buffer; {@code onRelease} runs when its last reference goes. */
  synchronized Buffer lend(Runnable onRelease) {
    lent++;
    return Buffer.over(
        memory.asSlice(HEADER, capacity),
        b -> {
          takeBack();
          onRelease.run();
        });
  }

  private synchronized void takeBack() {
    lent--;
    if (closed && lent == 0) {
      arena.close();
    }
  }

  /** Whoever has it is done with it. */
  synchronized void free() {
    if (!closed) {
      OWNER.setRelease(memory, 0L, FREE);
    }
  }

  /** Unmaps the file, once nobody reads it. */
  synchronized void close() {
    if (!closed) {
      closed = true;
      if (lent == 0) {
        arena.close();
      }
    }
  }

  /** Whether the sender has done away with it. */
  boolean isDeleted() {
    return Files.notExists(path);
  }

  /**
   * Gives the memory back at once, also where the receiver has mapped it and will not look at it
   * again: for a file the sender has taken and not handed over.
   */
  void discard() {
    try (FileChannel file = open(path)) {
      file.truncate(0);
    } catch (IOException e) {
      // The memory goes when the receiver unmaps it.
    }
    delete();
    close();
  }

  void delete() {
    try {
      Files.deleteIfExists(path);
    } catch (IOException e) {
      // Goes with its folder.
    }
  }
}
