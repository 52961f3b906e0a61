package dev.millrace.tensor;

import dev.millrace.base.config.ComputeSettings;
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

  void close() {
    if (!closed && give()) {
      closedAt = TensorChecks.RECORDS_CLOSE ? new Throwable("The tensor was closed here.") : null;
      if (cleanable != null) {
        cleanable.clean();
      }
    }
  }

  /** What the garbage collector does. */
  @Override
  public void run() {
    give();
  }

  private boolean give() {
    boolean first = CLOSED.compareAndSet(this, false, true);
    if (first && buffer != null) {
      buffer.release();
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
