package dev.millrace.train.data;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Tensor;

/** A dataset several times over. */
record Repeated(Dataset source, long times) implements Dataset {
  @Override
  public int positionLength() {
    return source.positionLength() + 1;
  }

  @Override
  public Elements elements() {
    Elements in = source.elements();
    long[] beginning = in.position();
    return new Elements() {
      // How many repetitions are complete.
      private long done;

      @Override
      public Tensor[] next() {
        for (boolean again = false; times < 0 || done < times; again = true) {
          Tensor[] element = in.next();
          if (element != null) {
            return element;
          }
          if (again) {
            // Not OUT_OF_RANGE: a worker without any data must not leave as one that is done.
            throw MillraceException.invalid(
                "There is nothing to repeat: the dataset is empty. Are there more shards than"
                    + " elements?");
          }
          done++;
          in.repeat(beginning, done);
        }
        return null;
      }

      @Override
      public long[] position() {
        return Positions.with(in.position(), done);
      }

      @Override
      public void seek(long[] position) {
        done = Positions.last(position);
        in.seek(Positions.butLast(position));
      }

      @Override
      public void close() {
        in.close();
      }
    };
  }
}
