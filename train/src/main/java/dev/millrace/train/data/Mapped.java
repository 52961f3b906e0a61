package dev.millrace.train.data;

import dev.millrace.tensor.Tensor;
import java.util.function.Function;

/** Elements after a function. */
record Mapped(Dataset source, Function<Tensor[], Tensor[]> function) implements Dataset {
  @Override
  public int positionLength() {
    return source.positionLength();
  }

  @Override
  public Elements elements() {
    Elements in = source.elements();
    return new Elements() {
      @Override
      public Tensor[] next() {
        Tensor[] element = in.next();
        return element == null ? null : function.apply(element);
      }

      @Override
      public long[] position() {
        return in.position();
      }

      @Override
      public void seek(long[] position) {
        in.seek(position);
      }

      @Override
      public void repeat(long[] beginning, long number) {
        in.repeat(beginning, number);
      }

      @Override
      public void close() {
        in.close();
      }
    };
  }
}
