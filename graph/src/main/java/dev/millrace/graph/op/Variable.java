package dev.millrace.graph.op;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.function.Consumer;

/**
 * A value that lives from step to step. Every change goes through {@link #assign} or {@link
 * #update}, so that is where durability can be added.
 *
 * <p>Reading gives the variable's own memory, not a copy. Under {@link #update} it changes in
 * place, and earlier readers see the change: TensorFlow's meaning of a reference variable, on which
 * its synchronous training depends. {@link #updateCopied} leaves earlier readers their value, the
 * meaning of a resource variable.
 *
 * <p>Threading: any thread; changes exclude each other, reads take the lock for an instant.
 */
public final class Variable implements Resources.Resource {
  private final String name;
  private final DType dtype;
  private Tensor value;

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

  public String name() {
    return name;
  }

  public DType dtype() {
    return dtype;
  }

  public synchronized boolean isInitialized() {
    return value != null;
  }

  public synchronized long version() {
    return version;
  }

  /** The shape of the current value, or null while there is none. */
  public synchronized Shape shape() {
    return value == null ? null : value.shape();
  }

  /** The current value with a counted reference of the caller's. */
  public synchronized Tensor read() {
    if (value == null) {
      throw uninitialized();
    }
    return value.retain();
  }

  /** The current value like {@link #read}, or null while there is none. */
  public synchronized Tensor readOrNull() {
    return value == null ? null : value.retain();
  }

  /**
   * Gives the variable a value. If it has one of that shape the bytes are copied into it, so that
   * earlier readers of a reference see them; otherwise the variable gets new memory. Borrows {@code
   * newValue}.
   */
  public synchronized void assign(Tensor newValue) {
    checkType(newValue);
    if (value != null && dtype.isPlain() && value.shape().equals(newValue.shape())) {
      java.lang.foreign.MemorySegment.copy(
          newValue.data(), 0, value.data(), 0, newValue.byteSize());
    } else {
      replace(newValue.copyCounted());
    }
    version++;
  }

  /** Gives the variable a value in memory of its own, leaving earlier readers theirs. */
  public synchronized void assignCopied(Tensor newValue) {
    checkType(newValue);
    if (value != null
        && value.buffer() != null
        && value.buffer().isUnshared()
        && value.shape().equals(newValue.shape())) {
      assign(newValue);
      return;
    }
    replace(newValue.copyCounted());
    version++;
  }

  /** Changes the value in place. */
  public synchronized void update(Consumer<Tensor> change) {
    if (value == null) {
      throw uninitialized();
    }
    change.accept(value);
    version++;
  }

  /** Changes the value, in place if nobody holds it, else in a copy that replaces it. */
  public synchronized void updateCopied(Consumer<Tensor> change) {
    if (value == null) {
      throw uninitialized();
    }
    if (value.buffer() == null || !value.buffer().isUnshared()) {
      replace(value.copyCounted());
    }
    change.accept(value);
    version++;
  }

  @Override
  public synchronized void close() {
    replace(null);
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
