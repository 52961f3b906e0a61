package dev.millrace.ops.sparse;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** The coordinates of the same values in a whole of another shape; one dimension may be -1. */
final class SparseReshape {
  static final Op OP =
      Op.define("SparseReshape")
          .input("input_indices: int64")
          .input("input_shape: int64")
          .input("new_shape: int64")
          .output("output_indices: int64")
          .output("output_shape: int64")
          .shape(
              c -> {
                long rank = c.inputOfRank(2, 1).dim(0);
                c.inputOfRank(1, 1);
                return List.of(Shape.of(c.inputOfRank(0, 2).dim(0), rank), Shape.of(rank));
              })
          .kernel(SparseReshape::compute)
          .noGradient("coordinates are not differentiable")
          .build();

  private SparseReshape() {}

  private static void compute(KernelContext c) {
    Tensor indices = c.input(0);
    Coo.requireRank("indices", "a matrix", indices, 2);
    Coo.requireRank("shape", "a vector", c.input(1), 1);
    if (c.input(2).shape().rank() != 1) {
      throw MillraceException.invalid(
          "Target shape should be a vector but received shape %s", c.input(2).shape());
    }
    Shape from = Coo.shape(c.input(1));
    if (from.rank() != indices.shape().dim(1)) {
      throw MillraceException.invalid(
          "Input shape rank mismatch: indices are %s, the shape %s", indices.shape(), from);
    }
    Shape to = resolve(from, c.input(2).toLongs());
    long n = indices.shape().dim(0);
    if (n > 0 && from.elements() == 0) {
      throw MillraceException.invalid(
          "A tensor of shape %s has no elements, but there are %d indices.", from, n);
    }
    Coo.putShape(c, 1, to);
    Tensor out = c.allocate(0, Shape.of(n, to.rank()));
    long[] strides = new long[from.rank()];
    long stride = 1;
    for (int d = from.rank() - 1; d >= 0; d--) {
      strides[d] = stride;
      stride *= Math.max(1, from.dim(d));
    }
    for (long i = 0; i < n; i++) {
      long p = 0;
      for (int d = 0; d < strides.length; d++) {
        p += indices.longAt(i * strides.length + d) * strides[d];
      }
      Coo.putCoordinates(out, i, to, p);
    }
  }

  private static Shape resolve(Shape from, long[] dims) {
    int open = -1;
    long known = 1;
    boolean empty = false;
    for (int i = 0; i < dims.length; i++) {
      if (dims[i] == -1) {
        if (open >= 0) {
          throw MillraceException.invalid(
              "only one output dimension may be -1, not both %d and %d", open, i);
        }
        open = i;
      } else if (dims[i] < 0) {
        throw MillraceException.invalid("size %d must be non-negative, not %d", i, dims[i]);
      } else {
        known = Math.multiplyExact(known, dims[i]);
        empty |= dims[i] == 0;
      }
    }
    if (open >= 0) {
      if (empty) {
        throw MillraceException.invalid(
            "reshape cannot infer the missing input size for an empty tensor unless all specified"
                + " input sizes are non-zero");
      }
      if (from.elements() % known != 0) {
        throw MillraceException.invalid(
            "Input to reshape is a SparseTensor with %d dense values, but the requested shape"
                + " requires a multiple of %d. input_shape=%s",
            from.elements(), known, from);
      }
      dims[open] = from.elements() / known;
    }
    Shape to = Shape.of(dims);
    if (to.elements() != from.elements()) {
      throw MillraceException.invalid(
          "Input to reshape is a tensor with %d dense values, but the requested shape has %d."
              + " input_shape=%s output_shape=%s",
          from.elements(), to.elements(), from, to);
    }
    return to;
  }
}
