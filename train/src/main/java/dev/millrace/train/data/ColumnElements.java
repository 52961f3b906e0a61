package dev.millrace.train.data;

import dev.millrace.tensor.Tensor;

/** A passage whose source has its data in columns: a single element is a row taken out of them. */
public abstract class ColumnElements implements Elements {
  @Override
  public abstract int read(RowBuffer to, int max);

  @Override
  public final Tensor[] next() {
    try (RowBuffer one = new RowBuffer(1)) {
      return read(one, 1) == 0 ? null : one.take(0);
    }
  }
}
