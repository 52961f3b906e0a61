package dev.millrace.tensor;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.config.ComputeSettings;
import dev.millrace.base.context.Context;
import dev.millrace.base.leak.LeakCheck;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Keeps released buffers for the next tensor of about their size, so that a warmed-up training step
 * allocates nothing. Sizes are rounded up to a quarter of a power of two; what is kept beyond a
 * limit is given back to the system, and so are buffers of more than a quarter of it: a few would
 * leave no room for others, and the system has such memory ready in little of the time it takes to
 * fill it.
 *
 * <p>Threading: any thread may allocate and release; each size class has its own lock, held for a
 * push or a pop only.
 */
public final class BufferPool implements AutoCloseable {
  private static final int MIN_SHIFT = 6;
  private static final int CLASSES = (63 - MIN_SHIFT) * 4;

  private static final Context.Part<BufferPool> PART =
      Context.Part.of(c -> new BufferPool(c.config().get(ComputeSettings.POOL_BYTES)));

  private final FreeList[] free = new FreeList[CLASSES];

  /** 0 once it is closed: what is released later goes back to the system. */
  private volatile long maxKeptBytes;

  private final AtomicLong keptBytes = new AtomicLong();
  private final AtomicLong nativeBytes = new AtomicLong();
  private final AtomicLong nativeAllocations = new AtomicLong();
  private final Buffer.Owner owner = this::reclaim;

  /** A pool that keeps at most this many bytes of released memory. */
  public BufferPool(long maxKeptBytes) {
    this.maxKeptBytes = maxKeptBytes;
    for (int i = 0; i < CLASSES; i++) {
      free[i] = new FreeList();
    }
  }

  /** The pool of the context that the calling thread runs in. */
  public static BufferPool current() {
    return Context.current().get(PART);
  }

  /** A buffer of at least {@code bytes}, with one reference and undefined contents. */
  public Buffer allocate(long bytes) {
    int c = sizeClass(bytes);
    if (c >= CLASSES) {
      throw noMemory(bytes, null);
    }
    Buffer b = free[c].pop();
    if (b != null) {
      keptBytes.addAndGet(-b.capacityBytes());
      b.revive();
      return b;
    }
    long size = classBytes(c);
    MemorySegment memory;
    try {
      memory = NativeMemory.allocate(size);
    } catch (OutOfMemoryError e) {
      trim();
      try {
        memory = NativeMemory.allocate(size);
      } catch (OutOfMemoryError again) {
        throw noMemory(bytes, again);
      }
    }
    nativeBytes.addAndGet(size);
    nativeAllocations.incrementAndGet();
    if (LeakCheck.ON) {
      Poison.fillStart(memory);
    }
    return Buffer.pooled(memory, owner, c);
  }

  private MillraceException noMemory(long bytes, OutOfMemoryError cause) {
    return new MillraceException(
        Code.RESOURCE_EXHAUSTED,
        "No memory for a tensor of "
            + bytes
            + " bytes; "
            + nativeBytes.get()
            + " bytes are in use by others. Use a smaller batch or a larger machine.",
        cause);
  }

  private void reclaim(Buffer b) {
    long size = b.capacityBytes();
    if (size > maxKeptBytes / 4) {
      freeNow(b);
    } else if (keptBytes.addAndGet(size) > maxKeptBytes) {
      keptBytes.addAndGet(-size);
      freeNow(b);
    } else {
      if (LeakCheck.ON) {
        Poison.fill(b.memory());
      }
      free[b.sizeClass].push(b);
      if (maxKeptBytes == 0) {
        trim();
      }
    }
  }

  private void freeNow(Buffer b) {
    nativeBytes.addAndGet(-b.capacityBytes());
    NativeMemory.free(b.memory());
  }

  /** Gives everything that is kept back to the system. */
  public void trim() {
    for (FreeList list : free) {
      for (Buffer b = list.pop(); b != null; b = list.pop()) {
        keptBytes.addAndGet(-b.capacityBytes());
        freeNow(b);
      }
    }
  }

  /** Keeps nothing any more. Buffers that somebody holds stay valid. */
  @Override
  public void close() {
    maxKeptBytes = 0;
    trim();
  }

  /** Bytes taken from the system and not given back, in use or kept. */
  public long nativeBytes() {
    return nativeBytes.get();
  }

  /** Bytes kept for reuse. */
  public long keptBytes() {
    return keptBytes.get();
  }

  /** Bytes of buffers somebody holds. */
  public long usedBytes() {
    return nativeBytes.get() - keptBytes.get();
  }

  /** How often the system was asked for memory since the start. */
  public long nativeAllocations() {
    return nativeAllocations.get();
  }

  /** Classes 4k..4k+3 hold sizes of (4..7)/4 times 2^(k + MIN_SHIFT). */
  static int sizeClass(long bytes) {
    if (bytes <= 1L << MIN_SHIFT) {
      return 0;
    }
    long n = bytes - 1;
    int exponent = 63 - Long.numberOfLeadingZeros(n);
    int quarter = (int) (n >>> (exponent - 2)) & 3;
    return (exponent - MIN_SHIFT) * 4 + quarter + 1;
  }

  static long classBytes(int c) {
    long base = 1L << (c / 4 + MIN_SHIFT);
    long size = base + (base / 4) * (c % 4);
    return (size + NativeMemory.ALIGNMENT - 1) & -NativeMemory.ALIGNMENT;
  }

  /** A stack of free buffers of one size class. */
  private static final class FreeList {
    private Buffer[] items = new Buffer[8];
    private int count;

    synchronized void push(Buffer b) {
      if (count == items.length) {
        items = java.util.Arrays.copyOf(items, count * 2);
      }
      items[count++] = b;
    }

    synchronized Buffer pop() {
      if (count == 0) {
        return null;
      }
      Buffer b = items[--count];
      items[count] = null;
      return b;
    }
  }
}
