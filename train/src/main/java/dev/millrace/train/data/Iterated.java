package dev.millrace.train.data;

import dev.millrace.tensor.Tensor;
import java.util.Iterator;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Elements made of what a stream gives. The position is how many were given; going there takes as
 * many from a new stream.
 */
record Iterated<T>(Supplier<Stream<T>> streams, Function<T, Tensor[]> function) implements Dataset {
  @Override
  public int positionLength() {
    return 1;
  }

  @Override
  public Elements elements() {
    return new Elements() {
      private Stream<T> stream;
      private Iterator<T> values;
      private long given;

      private boolean hasNext() {
        if (stream == null) {
          stream = streams.get();
          values = stream.iterator();
        }
        return values.hasNext();
      }

      @Override
      public Tensor[] next() {
        if (!hasNext()) {
          return null;
        }
        Tensor[] element = function.apply(values.next());
        given++;
        return element;
      }

      @Override
      public long[] position() {
        return new long[] {given};
      }

      @Override
      public void seek(long[] position) {
        close();
        for (; given < position[0]; given++) {
          if (!hasNext()) {
            Elements.pass(this, position[0] - given); // says that the data is shorter
          }
          values.next();
        }
      }

      @Override
      public void close() {
        given = 0;
        if (stream != null) {
          stream.close();
          stream = null;
        }
      }
    };
  }
}
