package dev.millrace.ops.queue;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/**
 * What a queue was declared to hold.
 *
 * @param kind TensorFlow's word for this kind of queue
 * @param name the name it is shared under
 * @param types the types of an element's components
 * @param shapes their shapes; empty if they may have any
 * @param capacity the most elements it holds
 * @param capacityBytes the most bytes it holds
 */
record QueueSpec(
    String kind,
    String name,
    List<DType> types,
    List<Shape> shapes,
    int capacity,
    long capacityBytes) {
  QueueSpec {
    if (!shapes.isEmpty() && shapes.size() != types.size()) {
      throw MillraceException.invalid(
          "%s '%s' declares %d components but %d shapes; give one for each, or none.",
          kind, name, types.size(), shapes.size());
    }
  }

  /** A spec bounded by number only; a negative capacity is none. */
  static QueueSpec of(
      String kind, String name, List<DType> types, List<Shape> shapes, long capacity) {
    int most = capacity < 0 ? Integer.MAX_VALUE : (int) Math.min(capacity, Integer.MAX_VALUE);
    return new QueueSpec(kind, name, types, shapes, most, Long.MAX_VALUE);
  }

  /** Complains if a node that shares the queue declares another one. */
  void checkSame(QueueSpec other) {
    checkSame("type", kind, other.kind);
    checkSame("capacity", capacity, other.capacity);
    checkSame("component types", types, other.types);
    checkSame("component shapes", shapes, other.shapes);
    checkSame("capacity in bytes", capacityBytes, other.capacityBytes);
  }

  private void checkSame(String what, Object has, Object wanted) {
    if (!has.equals(wanted)) {
      throw MillraceException.invalid(
          "Shared queue '%s' has %s %s, but the requested %s is %s.",
          name, what, has, what, wanted);
    }
  }

  /** Complains if these are not the types of an element. */
  void checkTypes(List<DType> found) {
    if (!types.equals(found)) {
      throw MillraceException.invalid(
          "%s '%s' has components of types %s; the op has %s.", kind, name, types, found);
    }
  }

  /** Complains unless this is an element. */
  void checkElement(Tensor[] element) {
    for (int i = 0; i < element.length && !shapes.isEmpty(); i++) {
      checkShape(i, shapes.get(i), element[i].shape());
    }
  }

  /** Complains unless these are elements stacked, as many of each component; says how many. */
  long checkBatch(Tensor[] batch) {
    long n = -1;
    for (int i = 0; i < batch.length; i++) {
      Shape s = batch[i].shape();
      if (s.rank() < 1) {
        throw MillraceException.invalid(
            "%s '%s': component %d is a scalar; many elements need a leading dimension.",
            kind, name, i);
      }
      if (i > 0 && s.dim(0) != n) {
        throw MillraceException.invalid(
            "%s '%s': all input tensors must have the same size in the 0th dimension. Component %d"
                + " has %d, and should have %d.",
            kind, name, i, s.dim(0), n);
      }
      n = s.dim(0);
      if (!shapes.isEmpty()) {
        checkShape(i, Shape.of(n).concat(shapes.get(i)), s);
      }
    }
    return n;
  }

  private void checkShape(int i, Shape declared, Shape found) {
    if (!declared.isCompatibleWith(found)) {
      throw MillraceException.invalid(
          "%s '%s': Shape mismatch in tuple component %d. Expected %s, got %s.",
          kind, name, i, declared, found);
    }
  }

  @Override
  public String toString() {
    return "%s of %s with shapes %s and capacity %d".formatted(kind, types, shapes, capacity);
  }
}
