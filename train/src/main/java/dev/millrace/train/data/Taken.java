package dev.millrace.train.data;

import dev.millrace.tensor.Tensor;

/** The first elements. The position is that of the source, and how many were given. */
record Taken(Dataset source, long most) implements Dataset {
  @Override
  public int positionLength() {
    return source.positionLength() + 1;
  }

  @Override
  public Elements elements() {
    Elements in = source.elements();
    return new Elements() {
      private long given;

      @Override
      public Tensor[] next() {
        Tensor[] element = given < most ? in.next() : null;
        given += element == null ? 0 : 1;
        return element;
      }

      @Override
      public int read(RowBuffer to, int max) {
        int n = in.read(to, (int) Math.min(max, most - given));
        given += n;
        return n;
      }

      @Override
      public long[] position() {
        return Positions.with(in.position(), given);
      }

      @Override
      public void seek(long[] position) {
        given = Positions.last(position);
        in.seek(Positions.butLast(position));
      }

      @Override
      public void repeat(long[] beginning, long number) {
        given = 0;
        in.repeat(Positions.butLast(beginning), number);
      }

      @Override
      public void close() {
        in.close();
      }
    };
  }
}
