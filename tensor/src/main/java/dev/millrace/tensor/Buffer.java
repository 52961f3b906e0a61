package dev.millrace.tensor;

import dev.millrace.base.leak.LeakCheck;
import dev.millrace.base.leak.Watch;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A block of native memory that several tensors may share. It starts with one reference; when the
 * last is released it goes back to where it came from and must not be touched again.
 *
 * <p>Threading: retain and release may be called from any thread. The bytes have no lock of their
 * own.
 */
public final class Buffer {
  /** What becomes of a buffer nobody refers to any more. */
  @FunctionalInterface
  public interface Owner {
    /** Takes back a buffer whose last reference is gone. */
    void reclaim(Buffer buffer);
  }

  private static final VarHandle REFERENCES;

  static {
    try {
      REFERENCES = MethodHandles.lookup().findVarHandle(Buffer.class, "references", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final MemorySegment memory;
  private final Owner owner;

  /** Which free list of the pool this belongs to; -1 for memory from elsewhere. */
  final int sizeClass;

  private volatile int references = 1;

  /** How often the pool has reused this buffer; {@link #references} publishes it. */
  private int generation;

  /** Finds that this was dropped while held; null unless the process checks for leaks. */
  private final Watch watch = LeakCheck.watch(this);

  private Buffer(MemorySegment memory, Owner owner, int sizeClass) {
    this.memory = memory;
    this.owner = owner;
    this.sizeClass = sizeClass;
    if (LeakCheck.ON) {
      long bytes = memory.byteSize();
      watch.describe(() -> "A buffer of " + bytes + " bytes");
    }
  }

  static Buffer pooled(MemorySegment memory, Owner owner, int sizeClass) {
    return new Buffer(memory, owner, sizeClass);
  }

  /**
   * A buffer over memory from elsewhere, for example a mapped file; {@code owner} is told when it
   * is no longer used. The segment is re-made from its address so that loops see one class of
   * segment; whoever owns the memory must keep it valid until then.
   */
  public static Buffer over(MemorySegment memory, Owner owner) {
    if (!memory.isNative()) {
      throw new IllegalArgumentException("a buffer needs native memory");
    }
    MemorySegment plain = MemorySegment.ofAddress(memory.address()).reinterpret(memory.byteSize());
    return new Buffer(plain, owner, -1);
  }

  /** All of the memory; a tensor in it may be shorter. */
  public MemorySegment memory() {
    return memory;
  }

  /** How many bytes it has room for. */
  public long capacityBytes() {
    return memory.byteSize();
  }

  /** Has findings of the leak check say which tensor this is the memory of. */
  void describe(DType dtype, Shape shape) {
    if (LeakCheck.ON) {
      watch.describe(() -> "The memory of a tensor " + dtype + shape);
    }
  }

  /** The generation of this buffer. A holder that sees it change no longer owns the buffer. */
  int generation() {
    return generation;
  }

  /** How many hold it now. */
  public int references() {
    return references;
  }

  /** Whether the caller's is the only reference, so that writing disturbs nobody. */
  public boolean isUnshared() {
    return references == 1;
  }

  /** Adds a holder. */
  public void retain() {
    if (!tryRetain()) {
      throw new IllegalStateException("buffer used after its last release");
    }
  }

  /** Adds a holder unless the last one has gone. */
  boolean tryRetain() {
    int n = references;
    while (n > 0) {
      int found = (int) REFERENCES.compareAndExchange(this, n, n + 1);
      if (found == n) {
        return true;
      }
      n = found;
    }
    return false;
  }

  /** Whether it is held, and has been since it was at this generation. */
  boolean isAt(int expected) {
    // The count is read first: it publishes the generation.
    return references > 0 && generation == expected;
  }

  /** Takes a holder away; with the last one the memory goes back to its owner. */
  public void release() {
    int before = (int) REFERENCES.getAndAdd(this, -1);
    if (before == 1) {
      if (LeakCheck.ON) {
        watch.released();
      }
      owner.reclaim(this);
    } else if (before <= 0) {
      throw new IllegalStateException("buffer released more often than retained");
    }
  }

  /** For the pool: from free back to one reference. */
  void revive() {
    generation++;
    if (LeakCheck.ON) {
      if (!Poison.isIn(memory)) {
        LeakCheck.report(watch.finding("was written after its release"));
      }
      watch.taken();
    }
    references = 1;
  }
}
