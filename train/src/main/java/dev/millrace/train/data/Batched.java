package dev.millrace.train.data;

import dev.millrace.tensor.Tensor;

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
        try (RowBuffer rows = new RowBuffer(size)) {
          in.read(rows, size);
          boolean none = rows.size() == 0 || (dropRemainder && rows.size() < size);
          return none ? null : rows.stack();
        }
      }
    };
  }
}
