package dev.millrace.graph.op;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A value that lives from step to step. Every change goes through {@link #assign} or one of the
 * update methods, so that is where durability can be added.
 *
 * <p>Reading gives the variable's own memory, not a copy. Under {@link #update} it changes in
 * place, and earlier readers see the change: TensorFlow's meaning of a reference variable, on which
 * its synchronous training depends. {@link #updateCopied} leaves earlier readers their value, the
 * meaning of a resource variable. A large table of which steps change a few rows must not be copied
 * for each of them: from the first {@link #updateRows} on it is {@link #read} that copies, and
 * {@link #examine} that does not.
 *
 * <p>Threading: any thread; changes exclude each other and readers, who take the lock for an
 * instant, or for as long as they examine.
 */
public final class Variable implements Resources.Resource {
  private final String name;
  private final DType dtype;
  private final ReadWriteLock lock = new ReentrantReadWriteLock();
  private Tensor value;

  /** Whether the value is changed in place and so must not be shared with readers. */
  private boolean copiedOnRead;

  /** Counts changes, for status and staleness. */
  private long version;

  public Variable(String name, DType dtype) {
    this.name = name;
    this.dtype = dtype;
  }

  @Override
  public String kind() {
    return "Variable";
  }

  /** Its name in its container. */
  public String name() {
    return name;
  }

  /** The type of its elements. */
  public DType dtype() {
    return dtype;
  }

  /** Whether it has a value. */
  public boolean isInitialized() {
    return reading(() -> value != null);
  }

  /** Grows with every change of the value. */
  public long version() {
    return reading(() -> version);
  }

  /** The shape of the current value, or null while there is none. */
  public Shape shape() {
    return reading(() -> value == null ? null : value.shape());
  }

  /** The current value with a counted reference of the caller's. */
  public Tensor read() {
    Tensor t = readOrNull();
    if (t == null) {
      throw uninitialized();
    }
    return t;
  }

  /** The current value like {@link #read}, or null while there is none. */
  public Tensor readOrNull() {
    return reading(
        () -> value == null ? null : copiedOnRead ? value.copyCounted() : value.retain());
  }

  /** Shows the current value, which cannot change meanwhile; it must not be kept. */
  public void examine(Consumer<Tensor> reader) {
    lock.readLock().lock();
    try {
      if (value == null) {
        throw uninitialized();
      }
      reader.accept(value);
    } finally {
      lock.readLock().unlock();
    }
  }

  /**
   * Gives the variable a value. If it has one of that shape the bytes are copied into it, so that
   * earlier readers of a reference see them; otherwise the variable gets new memory. Borrows {@code
   * newValue}.
   */
  public void assign(Tensor newValue) {
    checkType(newValue);
    changing(() -> put(newValue));
  }

  /** Gives the variable a value in memory of its own, leaving earlier readers theirs. */
  public void assignCopied(Tensor newValue) {
    checkType(newValue);
    changing(
        () -> {
          if (isShared()) {
            replace(newValue.copyCounted());
          } else {
            put(newValue);
          }
        });
  }

  /** Changes the value in place. */
  public void update(Consumer<Tensor> change) {
    changing(
        () -> {
          if (value == null) {
            throw uninitialized();
          }
          change.accept(value);
        });
  }

  /** Changes the value, in place if nobody holds it, else in a copy that replaces it. */
  public void updateCopied(Consumer<Tensor> change) {
    changing(() -> changeUnshared(change));
  }

  /** Like {@link #updateCopied}, for changes too small to copy the whole value each time. */
  public void updateRows(Consumer<Tensor> change) {
    changing(
        () -> {
          copiedOnRead = true;
          changeUnshared(change);
        });
  }

  @Override
  public void close() {
    changing(() -> replace(null));
  }

  private <T> T reading(Supplier<T> body) {
    lock.readLock().lock();
    try {
      return body.get();
    } finally {
      lock.readLock().unlock();
    }
  }

  private void changing(Runnable body) {
    lock.writeLock().lock();
    try {
      body.run();
      version++;
    } finally {
      lock.writeLock().unlock();
    }
  }

  private void changeUnshared(Consumer<Tensor> change) {
    if (value == null) {
      throw uninitialized();
    }
    if (isShared()) {
      replace(value.copyCounted());
    }
    change.accept(value);
  }

  private boolean isShared() {
    return value == null || value.buffer() == null || !value.buffer().isUnshared();
  }

  private void put(Tensor t) {
    if (value != null && dtype.isPlain() && value.shape().equals(t.shape())) {
      MemorySegment.copy(t.data(), 0, value.data(), 0, t.byteSize());
    } else {
      replace(t.copyCounted());
    }
  }

  private void replace(Tensor t) {
    if (value != null) {
      value.release();
    }
    value = t;
  }

  private void checkType(Tensor t) {
    if (t.dtype() != dtype) {
      throw MillraceException.invalid(
          "Variable '%s' is %s; it cannot be assigned a value of type %s.", name, dtype, t.dtype());
    }
  }

  /** The error whose wording TensorFlow's session recovery looks for. */
  public MillraceException uninitialized() {
    return new MillraceException(
        Code.FAILED_PRECONDITION, "Attempting to use uninitialized value " + name);
  }
}
