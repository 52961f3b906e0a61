package dev.millrace.train.data;

import dev.millrace.tensor.Tensor;
import java.util.OptionalLong;
import java.util.function.IntFunction;

/** Elements made by number. The position is the number of the next. */
record Numbered(int count, IntFunction<Tensor[]> element) implements Dataset {
  @Override
  public OptionalLong knownSize() {
    return OptionalLong.of(count);
  }

  @Override
  public int positionLength() {
    return 1;
  }

  @Override
  public Elements elements() {
    return new Elements() {
      private int next;

      @Override
      public Tensor[] next() {
        return next < count ? element.apply(next++) : null;
      }

      @Override
      public boolean skipNext() {
        return next < count && next++ >= 0;
      }

      @Override
      public long[] position() {
        return new long[] {next};
      }

      @Override
      public void seek(long[] position) {
        next = Math.toIntExact(position[0]);
      }
    };
  }
}
