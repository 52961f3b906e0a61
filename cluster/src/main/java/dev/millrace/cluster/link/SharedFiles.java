package dev.millrace.cluster.link;

import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The shared files of one link: those this process fills, kept for the next tensor of about the
 * size, and those the other side has filled.
 *
 * <p>Threading: any thread.
 */
final class SharedFiles implements AutoCloseable {
  /** Smaller tensors travel in the message. */
  static final long MIN_BYTES = Integer.getInteger("millrace.link.shared.bytes", 32 << 10);

  /** Beyond this many bytes, tensors travel in the message again. */
  private static final long LIMIT_BYTES = Long.getLong("millrace.link.shared.limit", 4L << 30);

  /** Names files of all links of the process apart. */
  private static final AtomicInteger NEXT = new AtomicInteger();

  private final Path ownFolder;
  private final Path peersFolder;
  private final List<SharedFile> outgoing = new ArrayList<>();
  private final Map<Integer, SharedFile> incoming = new HashMap<>();

  /** Tensors that were made to be sent and have not been, by the address of their memory. */
  private final Map<Long, SharedFile> staged = new ConcurrentHashMap<>();

  private long outgoingBytes;
  private boolean closed;

  SharedFiles(Path ownFolder, Path peersFolder) {
    this.ownFolder = ownFolder;
    this.peersFolder = peersFolder;
  }

  // ---- sending ----

  /** A copy of {@code t} in shared memory, or null where there is no {@link #room}. */
  Tensor stage(Tensor t) {
    Tensor copy = room(t.dtype(), t.shape());
    if (copy != null) {
      copy(t.data(), copy.data());
    }
    return copy;
  }

  /** A tensor in shared memory that is to be filled and sent; null if small or if all is full. */
  Tensor room(DType dtype, Shape shape) {
    long bytes = dtype.isPlain() ? shape.elements() * dtype.bytes() : 0;
    SharedFile file = bytes < MIN_BYTES ? null : take(bytes);
    if (file == null) {
      return null;
    }
    long[] address = new long[1];
    Buffer buffer =
        file.lend(
            () -> {
              // Still there: it was never sent.
              if (staged.remove(address[0]) != null) {
                file.free();
              }
            });
    address[0] = buffer.memory().address();
    staged.put(address[0], file);
    return Tensor.ofBuffer(dtype, shape, buffer);
  }

  /** The file {@code t} was made in, which is now the receiver's; null if it was not. */
  SharedFile sent(Tensor t) {
    return t.buffer() == null ? null : staged.remove(t.buffer().memory().address());
  }

  private static void copy(MemorySegment from, MemorySegment to) {
    long bytes = from.byteSize();
    Parallel.run(
        bytes, 1 << 20, (start, end) -> MemorySegment.copy(from, start, to, start, end - start));
  }

  private synchronized SharedFile take(long bytes) {
    if (closed) {
      return null;
    }
    for (SharedFile f : outgoing) {
      if (f.capacity() >= bytes && f.capacity() / 2 <= bytes && f.take()) {
        return f;
      }
    }
    long capacity = roundUp(bytes);
    if (outgoingBytes + capacity > LIMIT_BYTES) {
      return null;
    }
    try {
      SharedFile f = SharedFile.create(ownFolder, NEXT.incrementAndGet(), capacity);
      outgoing.add(f);
      outgoingBytes += capacity;
      return f;
    } catch (IOException e) {
      return null;
    }
  }

  /** To a quarter of a power of two, so that sizes that vary a little share files. */
  private static long roundUp(long bytes) {
    long quarter = Math.max(4096, Long.highestOneBit(bytes) >> 2);
    return (bytes + quarter - 1) / quarter * quarter;
  }

  // ---- receiving ----

  /** The memory of the other side's file, freed with the buffer's last reference. */
  synchronized Buffer receive(int id, long capacity) throws IOException {
    SharedFile f = incoming.get(id);
    if (f == null) {
      f = SharedFile.map(peersFolder, id, capacity);
      incoming.put(id, f);
      if (closed) {
        f.close();
      }
    }
    return f.lend(f::free);
  }

  /** Gives everything back, as soon as nobody reads it. */
  @Override
  public synchronized void close() {
    closed = true;
    for (SharedFile f : outgoing) {
      f.delete();
      f.close();
    }
    incoming.values().forEach(SharedFile::close);
    outgoing.clear();
    incoming.clear();
  }
}
