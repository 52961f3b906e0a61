package dev.millrace.ops.train;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.update.UpdateRule;

/** Applies an update to the rows that have a gradient, one after the other. */
final class SparseRows {
  private SparseRows() {}

  /**
   * Row {@code indices[i]} of the variable and its slots gets row {@code i} of the gradient.
   * Nothing is changed if an index is out of range. A row named twice is updated twice.
   */
  static void apply(
      KernelContext c, UpdateRule update, Tensor[] state, Tensor grad, Tensor indices) {
    Shape var = state[0].shape();
    if (var.rank() < 1 || indices.shape().rank() != 1) {
      throw MillraceException.invalid(
          "%s '%s': the variable must be at least 1 dimensional and the indices exactly; they are"
              + " %s and %s.",
          c.node().op().name(), c.node().name(), var, indices.shape());
    }
    long rows = indices.elements();
    if (!grad.shape().equals(var.withDim(0, rows))) {
      throw MillraceException.invalid(
          "%s '%s': the gradient of %d rows of a variable of shape %s must have shape %s, not %s.",
          c.node().op().name(), c.node().name(), rows, var, var.withDim(0, rows), grad.shape());
    }
    for (long i = 0; i < rows; i++) {
      long row = indices.longAt(i);
      if (row < 0 || row >= var.dim(0)) {
        throw MillraceException.invalid(
            "%s '%s': index %d at offset %d in indices is out of range [0, %d).",
            c.node().op().name(), c.node().name(), row, i, var.dim(0));
      }
    }
    update.applyRows(state, grad, indices);
  }
}
