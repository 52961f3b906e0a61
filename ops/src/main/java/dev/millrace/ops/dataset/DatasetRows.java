package dev.millrace.ops.dataset;

import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.util.List;

/** Tensors as rows of one with a dimension more. */
final class DatasetRows {
  private DatasetRows() {}

  /** Row {@code i}, with one counted reference. */
  static Tensor row(Tensor all, long i) {
    Shape s = all.shape();
    Shape shape = s.slice(1, s.rank());
    long count = shape.elements();
    Tensor row = Refs.allocate(all.dtype(), shape);
    StridedCopy.copyRun(all, i * count, row, 0, count);
    return row;
  }

  /** Component {@code i} of all elements, which have one shape, stacked. */
  static Tensor stack(List<Tensor[]> elements, int i) {
    Tensor first = elements.getFirst()[i];
    Shape shape = Shape.of(elements.size()).concat(first.shape());
    Tensor all = Refs.allocate(first.dtype(), shape);
    long length = first.elements();
    for (int k = 0; k < elements.size(); k++) {
      StridedCopy.copyRun(elements.get(k)[i], 0, all, k * length, length);
    }
    return all;
  }
}
