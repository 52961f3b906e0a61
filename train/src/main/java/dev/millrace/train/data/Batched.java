package dev.millrace.train.data;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** Elements stacked into batches. */
record Batched(Dataset source, int size, boolean dropRemainder) implements Dataset {
  @Override
  public int positionLength() {
    return source.positionLength();
  }

  @Override
  public Elements elements() {
    return new DerivedElements(source.elements()) {
      @Override
      public Tensor[] next() {
        List<Tensor[]> rows = new ArrayList<>(size);
        while (rows.size() < size) {
          Tensor[] element = in.next();
          if (element == null) {
            break;
          }
          rows.add(element);
        }
        try {
          return rows.isEmpty() || (dropRemainder && rows.size() < size) ? null : stacked(rows);
        } finally {
          rows.forEach(Elements::release);
        }
      }
    };
  }

  private static Tensor[] stacked(List<Tensor[]> rows) {
    Tensor[] batch = new Tensor[rows.getFirst().length];
    for (int c = 0; c < batch.length; c++) {
      batch[c] = stacked(rows, c);
    }
    return batch;
  }

  private static Tensor stacked(List<Tensor[]> rows, int component) {
    Tensor first = rows.getFirst()[component];
    DType dtype = first.dtype();
    Shape shape = Shape.of(rows.size()).concat(first.shape());
    Tensor batch =
        dtype.isPlain()
            ? Tensor.allocate(dtype, shape)
            : Tensor.ofObjects(dtype, shape, new Object[Math.toIntExact(shape.elements())]);
    for (int i = 0; i < rows.size(); i++) {
      Tensor row = rows.get(i)[component];
      if (row.dtype() != dtype || !row.shape().equals(first.shape())) {
        throw MillraceException.invalid(
            "Elements of a batch differ in component %d: the first is %s%s, number %d is %s%s. Give"
                + " them one shape with map.",
            component, dtype, first.shape(), i, row.dtype(), row.shape());
      }
      if (dtype.isPlain()) {
        long bytes = row.byteSize();
        MemorySegment.copy(row.data(), 0, batch.data(), i * bytes, bytes);
      } else {
        int n = (int) row.elements();
        System.arraycopy(row.objects(), 0, batch.objects(), i * n, n);
      }
    }
    return batch;
  }
}
