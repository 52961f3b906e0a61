package dev.millrace.train.data;

import dev.millrace.tensor.Tensor;
import java.util.Arrays;
import java.util.List;

/**
 * An element of each dataset in turn, of those that have more. The position is the repetition,
 * whose turn it is, and for each dataset whether it has ended and its position.
 */
record Interleaved(List<? extends Dataset> sources) implements Dataset {
  private static final int FIRST = 2;

  @Override
  public int positionLength() {
    return FIRST + sources.stream().mapToInt(d -> d.positionLength() + 1).sum();
  }

  @Override
  public Elements elements() {
    List<? extends Elements> all = sources.stream().map(Dataset::elements).toList();
    List<long[]> beginnings = all.stream().map(Elements::position).toList();
    boolean[] ended = new boolean[all.size()];
    return new Elements() {
      private long epoch;
      private int turn;

      @Override
      public Tensor[] next() {
        for (int tried = 0; tried < ended.length; tried++) {
          int i = turn;
          turn = (turn + 1) % ended.length;
          Tensor[] element = ended[i] ? null : all.get(i).next();
          if (element != null) {
            return element;
          }
          ended[i] = true;
        }
        return null;
      }

      @Override
      public long[] position() {
        long[] position = new long[positionLength()];
        position[0] = epoch;
        position[1] = turn;
        int at = FIRST;
        for (int i = 0; i < ended.length; i++) {
          long[] own = all.get(i).position();
          position[at++] = ended[i] ? 1 : 0;
          System.arraycopy(own, 0, position, at, own.length);
          at += own.length;
        }
        return position;
      }

      @Override
      public void seek(long[] position) {
        epoch = position[0];
        turn = Math.toIntExact(position[1]);
        int at = FIRST;
        for (int i = 0; i < ended.length; i++) {
          int length = sources.get(i).positionLength();
          ended[i] = position[at++] != 0;
          if (epoch > 0) {
            all.get(i).repeat(beginnings.get(i), epoch);
          }
          all.get(i).seek(Arrays.copyOfRange(position, at, at + length));
          at += length;
        }
      }

      @Override
      public void repeat(long[] beginning, long number) {
        epoch = number;
        turn = 0;
        Arrays.fill(ended, false);
        for (int i = 0; i < ended.length; i++) {
          all.get(i).repeat(beginnings.get(i), number);
        }
      }

      @Override
      public void close() {
        all.forEach(Elements::close);
      }
    };
  }
}
