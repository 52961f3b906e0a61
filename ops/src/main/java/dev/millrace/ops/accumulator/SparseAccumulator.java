package dev.millrace.ops.accumulator;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import dev.millrace.tensor.math.elementwise.AddScaled;
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
      values = Refs.copy(rows);
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
    Tensor total = Refs.allocate(rows.dtype(), Shape.of(n).concat(row));
    for (int k = 0; k < n; k++) {
      boolean sum = fromSum[k] >= 0;
      long start = (sum ? fromSum[k] : fromGradient[k]) * width;
      StridedCopy.copyRun(sum ? values : rows, start, total, k * width, width);
      if (sum && fromGradient[k] >= 0) {
        AddScaled.to(total, k * width, rows, fromGradient[k] * width, width, 1);
      }
    }
    Refs.release(values);
    values = total;
    indices = Arrays.copyOf(merged, n);
    counts = Arrays.copyOf(mergedCounts, n);
  }

  /**
   * Fails unless rows and indices match each other and the declared shape, which may leave out the
   * last dimensions.
   */
  private void check(Tensor at, Tensor rows, Shape whole) {
    if (at.shape().rank() != 1) {
      throw refused("Input indices should be vector but received shape: %s", at.shape());
    }
    Shape found = rows.shape();
    if (found.isScalar()) {
      throw refused("Values cannot be 0-dimensional.");
    }
    if (found.dim(0) != at.elements()) {
      throw refused("Expected %d non-empty input values, got %d", at.elements(), found.dim(0));
    }
    Shape declared = spec().shape().hasRank() ? spec().shape() : Shape.scalar();
    if (whole != null) {
      checkDims("shape", declared, whole, 0);
    }
    Shape most = declared.isScalar() && whole != null ? whole : declared;
    long limit = most.isScalar() ? Shape.UNKNOWN : most.dim(0);
    for (long i = 0; i < at.elements(); i++) {
      long k = at.longAt(i);
      if (k < 0) {
        throw refused("Shape mismatch: index of slice %d is negative: index %d", i, k);
      }
      if (limit >= 0 && k >= limit) {
        throw refused(
            "Shape mismatch: index of slice %d exceeded limits of shape; index is %d exceeded %d",
            i, k, limit);
      }
    }
    if (values == null) {
      checkDims("values", declared, found, 1);
    } else if (values.shape().rank() != found.rank()) {
      throw refused(
          "Shape mismatch: expected values rank %d, got %d", values.shape().rank(), found.rank());
    } else {
      checkDims("values", values.shape(), found, 1);
    }
    if (whole != null && !whole.isScalar() && !whole.slice(1, whole.rank()).equals(rowOf(rows))) {
      throw refused("Shape mismatch: values of %s are no rows of shape %s", found, whole);
    }
  }

  /** Fails unless {@code found} begins with the dimensions wanted, from {@code first} on. */
  private void checkDims(String what, Shape wanted, Shape found, int first) {
    if (wanted.rank() > found.rank()) {
      throw refused(
          "Shape mismatch: expected %s rank at least %d, got %d",
          what, wanted.rank(), found.rank());
    }
    for (int i = first; i < wanted.rank(); i++) {
      if (wanted.dim(i) >= 0 && wanted.dim(i) != found.dim(i)) {
        throw refused(
            "Shape mismatch: expected %s dim %d to be %d, got %d",
            what, i, wanted.dim(i), found.dim(i));
      }
    }
  }

  private MillraceException refused(String why, Object... args) {
    return MillraceException.invalid("%s '%s': %s", kind(), spec().name(), why.formatted(args));
  }

  private static Shape rowOf(Tensor rows) {
    return rows.shape().slice(1, rows.shape().rank());
  }

  private static Shape dims(Tensor t) {
    if (t.shape().rank() != 1) {
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
      Refs.release(values);
    }
    clearFields();
  }

  private void clearFields() {
    indices = new long[0];
    counts = new int[0];
    values = null;
  }
}
