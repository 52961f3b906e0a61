package dev.millrace.train.data;

import dev.millrace.tensor.Tensor;

/**
 * Every nth element. The position is that of the source, which stands behind the last one given.
 */
record Shard(Dataset source, int n, int index) implements Dataset {
  @Override
  public int positionLength() {
    return source.positionLength() + 1;
  }

  @Override
  public Elements elements() {
    Elements in = source.elements();
    return new Elements() {
      // How many elements of the source have gone by.
      private long passed;

      @Override
      public Tensor[] next() {
        while (true) {
          Tensor[] element = in.next();
          if (element == null) {
            return null;
          }
          if (passed++ % n == index) {
            return element;
          }
          Elements.release(element);
        }
      }

      @Override
      public long[] position() {
        return Positions.with(in.position(), passed);
      }

      @Override
      public void seek(long[] position) {
        passed = Positions.last(position);
        in.seek(Positions.butLast(position));
      }

      @Override
      public void repeat(long[] beginning, long number) {
        passed = 0;
        in.repeat(Positions.butLast(beginning), number);
      }

      @Override
      public void close() {
        in.close();
      }
    };
  }
}
