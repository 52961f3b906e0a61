package dev.millrace.ops.accumulator;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.op.KernelContext;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.AddScaled;
import dev.millrace.tensor.math.StridedCopy;
import java.util.Arrays;

/**
 * Sums rows of a tensor, given with the indices of where they belong. A row's mean is over the
 * gradients that had this row, not over all.
 *
 * <p>Sum and gradient are merged like sorted lists. Indices that are not sorted give a sum in which
 * one index may stand several times, exactly as in TensorFlow.
 */
final class SparseAccumulator extends GradientAccumulator {
  private long[] indices = {};
  private int[] counts = {};

  /** The rows of {@link #indices}; null until the first gradient of a step. */
  private Tensor values;

  SparseAccumulator(Spec spec) {
    super(spec);
  }

  @Override
  void add(KernelContext c, int before) {
    Tensor at = c.input(2);
    Tensor rows = c.input(3);
    check(at, rows, c.node().booleanAttr("has_known_shape") ? dims(c.input(4)) : null);
    long[] more = at.toLongs();
    if (values == null) {
      indices = more;
      counts = new int[more.length];
      Arrays.fill(counts, 1);
      values = rows.copyCounted();
    } else {
      merge(more, rows);
    }
  }

  private void merge(long[] more, Tensor rows) {
    int most = indices.length + more.length;
    long[] merged = new long[most];
    int[] mergedCounts = new int[most];
    int[] fromSum = new int[most];
    int[] fromGradient = new int[most];
    int n = 0;
    for (int i = 0, j = 0; i < indices.length || j < more.length; n++) {
      boolean sum = j == more.length || (i < indices.length && indices[i] <= more[j]);
      boolean gradient = i == indices.length || (j < more.length && more[j] <= indices[i]);
      merged[n] = sum ? indices[i] : more[j];
      mergedCounts[n] = (sum ? counts[i] : 0) + (gradient ? 1 : 0);
      fromSum[n] = sum ? i++ : -1;
      fromGradient[n] = gradient ? j++ : -1;
    }
    Shape row = rowOf(rows);
    long width = row.elements();
    Tensor total = Tensor.allocateCounted(rows.dtype(), Shape.of(n).concat(row));
    for (int k = 0; k < n; k++) {
      boolean sum = fromSum[k] >= 0;
      long start = (sum ? fromSum[k] : fromGradient[k]) * width;
      StridedCopy.copyRun(sum ? values : rows, start, total, k * width, width);
      if (sum && fromGradient[k] >= 0) {
        AddScaled.to(total, k * width, rows, fromGradient[k] * width, width, 1);
      }
    }
    values.release();
    values = total;
    indices = Arrays.copyOf(merged, n);
    counts = Arrays.copyOf(mergedCounts, n);
  }

  /** Complains unless rows and indices belong together and to the declared shape. */
  private void check(Tensor at, Tensor rows, Shape whole) {
    if (at.shape().rank() != 1 || rows.shape().rank() < 1 || rows.shape().dim(0) != at.elements()) {
      throw MillraceException.invalid(
          "%s '%s': indices must be a vector, and values have a row for each; they are %s and %s.",
          kind(), spec().name(), at.shape(), rows.shape());
    }
    // TensorFlow's synchronous training declares a scalar and means any shape.
    Shape declared = spec().shape().isScalar() ? Shape.unknown() : spec().shape();
    Shape found = (whole == null ? Shape.of(-1) : whole.slice(0, 1)).concat(rowOf(rows));
    Shape summed = values == null ? declared : Shape.of(-1).concat(rowOf(values));
    if (!declared.isCompatibleWith(found)
        || !summed.isCompatibleWith(found)
        || (whole != null && !whole.equals(found))) {
      throw MillraceException.invalid(
          "%s '%s': Shape mismatch: expected %s, got values of %s for a tensor of %s.",
          kind(),
          spec().name(),
          declared,
          rows.shape(),
          whole == null ? "unknown shape" : "shape " + whole);
    }
    long limit = found.mergeWith(declared).dim(0);
    for (long i = 0; i < at.elements(); i++) {
      long k = at.longAt(i);
      if (k < 0 || (limit >= 0 && k >= limit)) {
        throw MillraceException.invalid(
            "%s '%s': index %d at offset %d is not a row of shape %s.",
            kind(), spec().name(), k, i, found.mergeWith(declared));
      }
    }
  }

  private static Shape rowOf(Tensor rows) {
    return rows.shape().slice(1, rows.shape().rank());
  }

  private static Shape dims(Tensor t) {
    if (t.shape().rank() != 1 || t.elements() < 1) {
      throw MillraceException.invalid(
          "The gradient's shape must be a vector of dimensions; it is %s.", t);
    }
    return Shape.of(t.toLongs());
  }

  @Override
  Delivery reduce(int n) {
    long[] at = indices;
    int[] in = counts;
    Tensor rows = values;
    clearFields();
    return c -> {
      c.output(1, rows);
      if (spec().mean()) {
        average(rows, in);
      }
      Tensor outIndices = c.allocate(0, Shape.of(at.length));
      for (int i = 0; i < at.length; i++) {
        outIndices.setLong(i, at[i]);
      }
      int rank = rows.shape().rank();
      Tensor whole = c.allocate(2, Shape.of(rank));
      Shape declared = spec().shape();
      whole.setLong(0, declared.rank() > 0 ? declared.dim(0) : Shape.UNKNOWN);
      for (int i = 1; i < rank; i++) {
        whole.setLong(i, rows.shape().dim(i));
      }
    };
  }

  private static void average(Tensor rows, int[] counts) {
    long width = counts.length == 0 ? 0 : rows.elements() / counts.length;
    for (int i = 0; i < counts.length; i++) {
      for (long k = i * width; counts[i] > 1 && k < (i + 1) * width; k++) {
        rows.setDouble(k, rows.doubleAt(k) / counts[i]);
      }
    }
  }

  @Override
  void clear() {
    if (values != null) {
      values.release();
    }
    clearFields();
  }

  private void clearFields() {
    indices = new long[0];
    counts = new int[0];
    values = null;
  }
}
