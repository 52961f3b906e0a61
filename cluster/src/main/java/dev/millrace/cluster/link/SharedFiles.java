package dev.millrace.cluster.link;

import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The shared files of one link: those this process fills, kept for the next tensor of about the
 * size, and those the other side has filled.
 *
 * <p>Threading: any thread.
 */
final class SharedFiles implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SharedFiles.class);

  private static final long MAX_ROUNDING = 16 << 20;

  /** Names files of all links of the process apart. */
  private static final AtomicInteger NEXT = new AtomicInteger();

  private final Path ownFolder;
  private final Path peersFolder;

  /** Smaller tensors travel in the message. */
  private final long minBytes;

  /** Beyond this many bytes, tensors travel in the message again. */
  private final long limitBytes;

  private final List<SharedFile> outgoing = new ArrayList<>();
  private final Map<Integer, SharedFile> incoming = new HashMap<>();

  /** Tensors that were made to be sent and have not been, by the address of their memory. */
  private final Map<Long, SharedFile> staged = new ConcurrentHashMap<>();

  private long outgoingBytes;
  private boolean closed;

  SharedFiles(Path ownFolder, Path peersFolder, Config settings) {
    this.ownFolder = ownFolder;
    this.peersFolder = peersFolder;
    minBytes = settings.get(ClusterSettings.LINK_SHARED_BYTES);
    limitBytes = settings.get(ClusterSettings.LINK_SHARED_LIMIT);
  }

  // ---- sending ----

  /** Whether a tensor of this size is large enough to travel through shared memory. */
  boolean isLarge(long bytes) {
    return bytes >= minBytes;
  }

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
    SharedFile file = !isLarge(bytes) ? null : take(bytes);
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
    return Refs.ofBuffer(dtype, shape, buffer);
  }

  /** Whether {@code t} was made in shared memory and has not been sent. */
  boolean isStaged(Tensor t) {
    return Refs.buffer(t) != null && staged.containsKey(Refs.buffer(t).memory().address());
  }

  /** The file {@code t} was made in, which is now the receiver's; null if it was not. */
  SharedFile sent(Tensor t) {
    return Refs.buffer(t) == null ? null : staged.remove(Refs.buffer(t).memory().address());
  }

  private static void copy(MemorySegment from, MemorySegment to) {
    long bytes = from.byteSize();
    Parallel.run(
        bytes, 1 << 20, (start, end) -> MemorySegment.copy(from, start, to, start, end - start));
  }

  private SharedFile take(long bytes) {
    long capacity = roundUp(bytes);
    synchronized (this) {
      for (SharedFile f : outgoing) {
        if (f.capacity() >= bytes && f.capacity() / 2 <= bytes && f.take()) {
          return f;
        }
      }
      makeRoomFor(capacity);
      if (closed || outgoingBytes + capacity > limitBytes) {
        return null;
      }
      outgoingBytes += capacity;
    }
    // To back a large file takes seconds, in which the link must go on reading.
    SharedFile f = null;
    try {
      f = SharedFile.create(ownFolder, NEXT.incrementAndGet(), capacity);
    } catch (IOException e) {
      LOG.debug("No shared memory for {} bytes: {}", capacity, e.toString());
    }
    synchronized (this) {
      if (f == null || closed) {
        outgoingBytes -= capacity;
      } else {
        outgoing.add(f);
        return f;
      }
    }
    if (f != null) {
      f.discard();
    }
    return null;
  }

  /** Gives back free files, the oldest first, as far as there is no room otherwise. */
  private void makeRoomFor(long bytes) {
    for (Iterator<SharedFile> i = outgoing.iterator();
        outgoingBytes + bytes > limitBytes && i.hasNext(); ) {
      SharedFile f = i.next();
      if (f.take()) {
        i.remove();
        outgoingBytes -= f.capacity();
        f.discard();
      }
    }
  }

  /**
   * To a quarter of a power of two, so that sizes that vary a little share files, but by no more
   * than what does not matter.
   */
  private static long roundUp(long bytes) {
    long quarter = Math.clamp(Long.highestOneBit(bytes) >> 2, 4096, MAX_ROUNDING);
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

  /** Gives back what has not been used for this long, here and by the other side. */
  void giveBackUnused(long nanos) {
    List<SharedFile> unused = new ArrayList<>();
    synchronized (this) {
      for (SharedFile f : outgoing) {
        if (f.isUnusedFor(nanos) && f.take()) {
          unused.add(f);
          outgoingBytes -= f.capacity();
        }
      }
      outgoing.removeAll(unused);
      incoming
          .values()
          .removeIf(
              f -> {
                boolean gone = f.isDeleted();
                if (gone) {
                  f.close();
                }
                return gone;
              });
    }
    unused.forEach(SharedFile::discard);
  }

  /** How many bytes the files have that this process fills. */
  synchronized long outgoingBytes() {
    return outgoingBytes;
  }

  /** How many files of the other side this process has mapped. */
  synchronized int incomingFiles() {
    return incoming.size();
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
