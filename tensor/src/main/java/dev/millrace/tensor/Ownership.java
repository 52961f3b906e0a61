package dev.millrace.tensor;

import dev.millrace.base.config.ComputeSettings;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Cleaner;

/**
 * A caller's reference to the memory of a tensor. It is given back once: when the tensor is closed,
 * or when the garbage collector finds that nobody can close it any more.
 *
 * <p>Threading: any thread. {@code closed} is set before the reference is released, so whoever has
 * added a reference and then still finds it open has added it to this tensor's memory and not to
 * that of another tensor which the pool gave the memory to.
 */
final class Ownership implements Runnable {
  private static final Cleaner CLEANER = Cleaner.create();
  private static final VarHandle CLOSED;

  static {
    try {
      CLOSED = MethodHandles.lookup().findVarHandle(Ownership.class, "closed", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** Null for a tensor without a buffer. */
  private final Buffer buffer;

  /** What messages call the tensor; null if it has no name. */
  private final String name;

  private volatile boolean closed;
  private volatile Throwable closedAt;
  private Cleaner.Cleanable cleanable;

  /** What the segment that a program was given can be accessed until; null if it has none. */
  private volatile Arena access;

  /** The memory as a program sees it; null until it asks. */
  private volatile MemorySegment view;

  private Ownership(Buffer buffer, String name) {
    this.buffer = buffer;
    this.name = name;
  }

  /** Takes over one reference to {@code buffer}. */
  static Ownership of(Buffer buffer, String name) {
    return new Ownership(buffer, name);
  }

  /** Has the garbage collector close what {@code tensor}'s owner forgets to. */
  void watch(Tensor tensor) {
    if (buffer != null) {
      cleanable = CLEANER.register(tensor, this);
    }
  }

  /**
   * Has the garbage collector release a reference to {@code buffer} when {@code tensor} is gone.
   */
  static void releaseWithGarbage(Tensor tensor, Buffer buffer) {
    CLEANER.register(tensor, buffer::release);
  }

  boolean isClosed() {
    return closed;
  }

  /**
   * The memory of {@code tensor} for a program: each access checks that the tensor is not closed.
   */
  MemorySegment view(Tensor tensor) {
    MemorySegment v = view;
    return v != null && !closed ? v : makeView(tensor);
  }

  private synchronized MemorySegment makeView(Tensor tensor) {
    check(tensor);
    if (view == null) {
      access = Arena.ofShared();
      view = tensor.data.reinterpret(access, null);
    }
    // Whoever closes this now sees the arena, or has marked this closed before.
    if (closed) {
      endAccess(true);
      throw closed(tensor);
    }
    return view;
  }

  /**
   * Forgets the view, and if {@code now} refuses all accesses through it. Returns the scope of
   * those that go on; null if there are none.
   */
  private synchronized MemorySegment.Scope endAccess(boolean now) {
    Arena a = access;
    access = null;
    view = null;
    if (a != null && now) {
      try {
        a.close();
        return null;
      } catch (IllegalStateException aNativeCallUsesIt) {
        // It ends when it ends.
      }
    }
    return a == null ? null : a.scope();
  }

  void close() {
    if (!closed && give(true)) {
      closedAt = TensorChecks.RECORDS_CLOSE ? new Throwable("The tensor was closed here.") : null;
      if (cleanable != null) {
        cleanable.clean();
      }
    }
  }

  /** What the garbage collector does. */
  @Override
  public void run() {
    give(false);
  }

  private boolean give(boolean byProgram) {
    boolean first = CLOSED.compareAndSet(this, false, true);
    if (first && buffer != null) {
      MemorySegment.Scope used = access == null ? null : endAccess(byProgram);
      if (used == null) {
        buffer.release();
      } else {
        // The memory stays as long as somebody has a segment of it.
        CLEANER.register(used, buffer::release);
      }
    }
    return first;
  }

  void check(Tensor tensor) {
    if (closed) {
      throw closed(tensor);
    }
  }

  /** Adds a reference to the buffer and returns it; null if there is none. */
  Buffer hold(Tensor tensor) {
    if (buffer == null) {
      check(tensor);
      return null;
    }
    boolean held = !closed && buffer.tryRetain();
    if (closed) {
      if (held) {
        buffer.release();
      }
      throw closed(tensor);
    }
    if (!held) {
      throw new IllegalStateException(
          "The tensor " + tensor.description() + " was released more often than retained.");
    }
    return buffer;
  }

  private ClosedTensorException closed(Tensor tensor) {
    Throwable at = closedAt;
    return new ClosedTensorException(
        "The tensor "
            + tensor.description()
            + (name == null ? "" : " '" + name + "'")
            + " was used after it was closed. Close it after its last use."
            + (at == null
                ? " Run with -D"
                    + ComputeSettings.TENSOR_DEBUG.name()
                    + "=true to see where it was closed."
                : ""),
        at);
  }
}
