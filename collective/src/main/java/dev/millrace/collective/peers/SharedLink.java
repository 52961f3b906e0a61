package dev.millrace.collective.peers;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * A link through memory both ends see. Each direction is a circular buffer with one writer and one
 * reader: a line with the count of bytes ever written, which only the writer changes, a line with
 * the count ever read, which only the reader changes, then the bytes.
 */
final class SharedLink implements PeerLink {
  /** The counters' distance: two cache lines, since processors fetch them in pairs. */
  private static final long LINE = 128;

  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
  private static final VarHandle COUNT = LONG.varHandle();

  private final SharedMemory owner;
  private final MemorySegment memory;
  private final long capacity;
  private final long out;
  private final long in;

  private long written;
  private long writtenLimit;
  private long read;
  private long readLimit;

  /** A link whose outgoing buffer is at {@code out} and whose incoming one is at {@code in}. */
  SharedLink(SharedMemory owner, long out, long in, long capacity) {
    this.owner = owner;
    this.memory = owner.segment();
    this.out = out;
    this.in = in;
    this.capacity = capacity;
    this.writtenLimit = capacity;
  }

  /** Bytes one direction takes in memory. */
  static long footprint(long capacity) {
    return 2 * LINE + capacity;
  }

  @Override
  public long send(MemorySegment data, long offset, long length) {
    if (written == writtenLimit) {
      writtenLimit = (long) COUNT.getAcquire(memory, out + LINE) + capacity;
    }
    long n = Math.min(length, writtenLimit - written);
    if (n > 0) {
      long at = written % capacity;
      long first = Math.min(n, capacity - at);
      MemorySegment.copy(data, offset, memory, out + 2 * LINE + at, first);
      if (n > first) {
        MemorySegment.copy(data, offset + first, memory, out + 2 * LINE, n - first);
      }
      written += n;
      COUNT.setRelease(memory, out, written);
    }
    return n;
  }

  @Override
  public long receive(MemorySegment into, long offset, long length) {
    if (read == readLimit) {
      readLimit = (long) COUNT.getAcquire(memory, in);
    }
    long n = Math.min(length, readLimit - read);
    if (n > 0) {
      long at = read % capacity;
      long first = Math.min(n, capacity - at);
      MemorySegment.copy(memory, in + 2 * LINE + at, into, offset, first);
      if (n > first) {
        MemorySegment.copy(memory, in + 2 * LINE, into, offset + first, n - first);
      }
      read += n;
      COUNT.setRelease(memory, in + LINE, read);
    }
    return n;
  }

  @Override
  public String where() {
    return "shared memory of " + (owner.segment().byteSize() >> 20) + " MiB";
  }

  @Override
  public void close() {}
}
