package dev.millrace.ops.sparse;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Set;

/**
 * A sparse tensor in three inputs of a kernel: a matrix with the coordinates of a value in each
 * row, the values, and the shape of the whole.
 */
record Coo(Tensor indices, Tensor values, Shape shape) {
  /** The inputs from {@code first} on, checked to belong together. */
  static Coo of(KernelContext c, int first) {
    return of(c.input(first), c.input(first + 1), c.input(first + 2));
  }

  static Coo of(Tensor indices, Tensor values, Tensor dims) {
    requireRank("indices", "a matrix", indices, 2);
    requireRank("values", "a vector", values, 1);
    requireRank("shape", "a vector", dims, 1);
    Coo coo = new Coo(indices, values, shape(dims));
    if (values.elements() != coo.count()) {
      throw MillraceException.invalid(
          "Number of values must match first dimension of indices. Got %d values, indices shape:"
              + " %s",
          values.elements(), indices.shape());
    }
    if (coo.shape.rank() != indices.shape().dim(1)) {
      throw MillraceException.invalid(
          "Number of dimensions must match second dimension of indices. Got %d dimensions, indices"
              + " shape: %s",
          coo.shape.rank(), indices.shape());
    }
    return coo;
  }

  /** The shape in a vector of dimensions. */
  static Shape shape(Tensor dims) {
    long[] d = dims.toLongs();
    for (int i = 0; i < d.length; i++) {
      if (d[i] < 0) {
        throw MillraceException.invalid("Dimension %d must be >= 0, not %d", i, d[i]);
      }
    }
    return Shape.of(d);
  }

  static void requireRank(String what, String kind, Tensor t, int rank) {
    if (t.shape().rank() != rank) {
      throw MillraceException.invalid(
          "Input %s should be %s but received shape: %s", what, kind, t.shape());
    }
  }

  /** Refuses a node whose {@code attr} is a type that kernels do not compute on. */
  static void requireType(Node node, String attr, Set<DType> types) {
    DType t = node.typeAttr(attr);
    if (!types.contains(t)) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          "%s '%s': there is no kernel for %s here.".formatted(node.op().name(), node.name(), t));
    }
  }

  /** How many values there are. */
  long count() {
    return indices.shape().dim(0);
  }

  int rank() {
    return shape.rank();
  }

  /** Coordinate {@code d} of value {@code i}. */
  long at(long i, int d) {
    return indices.longAt(i * shape.rank() + d);
  }

  /** Whether value {@code i} is inside the whole. */
  boolean isInside(long i) {
    for (int d = 0; d < shape.rank(); d++) {
      if (at(i, d) < 0 || at(i, d) >= shape.dim(d)) {
        return false;
      }
    }
    return true;
  }

  /** The position of value {@code i} among all elements of the whole, which must be inside it. */
  long position(long i) {
    long p = 0;
    for (int d = 0; d < shape.rank(); d++) {
      long k = at(i, d);
      if (k < 0 || k >= shape.dim(d)) {
        throw MillraceException.invalid(
            "indices[%d] = %s is out of bounds: need 0 <= index < %s", i, coordinates(i), shape);
      }
      p = p * shape.dim(d) + k;
    }
    return p;
  }

  /** Complains unless every value is inside, behind the one before it. */
  void requireOrder() {
    long last = -1;
    for (long i = 0; i < count(); i++) {
      long p = position(i);
      if (p <= last) {
        throw MillraceException.invalid(
            "indices[%d] = %s is %s. Many sparse ops require sorted indices.%n    Use"
                + " `tf.sparse.reorder` to create a correctly ordered copy.",
            i, coordinates(i), p == last ? "repeated" : "out of order");
      }
      last = p;
    }
  }

  /** The coordinates of value {@code i}, as TensorFlow writes them. */
  String coordinates(long i) {
    StringBuilder s = new StringBuilder("[");
    for (int d = 0; d < shape.rank(); d++) {
      s.append(d == 0 ? "" : ",").append(at(i, d));
    }
    return s.append(']').toString();
  }

  /** Writes the coordinates of position {@code p} of a tensor of this shape to row {@code i}. */
  static void putCoordinates(Tensor indices, long i, Shape shape, long p) {
    for (int d = shape.rank() - 1; d >= 0; d--) {
      long size = Math.max(1, shape.dim(d));
      indices.setLong(i * shape.rank() + d, p % size);
      p /= size;
    }
  }

  /** Makes output {@code i} a vector of dimensions. */
  static void putShape(KernelContext c, int i, Shape shape) {
    Tensor out = c.allocate(i, Shape.of(shape.rank()));
    for (int d = 0; d < shape.rank(); d++) {
      out.setLong(d, shape.dim(d));
    }
  }
}
