package dev.millrace.train.data;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;

/**
 * Datasets one after the other. The position is the repetition, the number of the part and the
 * position in it, -1 before its first element. The parts are its splits.
 */
record Joined(List<? extends Dataset> parts) implements Dataset {
  @Override
  public int positionLength() {
    return 2 + parts.stream().mapToInt(Dataset::positionLength).max().orElse(0);
  }

  @Override
  public OptionalLong knownSize() {
    long sum = 0;
    for (Dataset part : parts) {
      OptionalLong size = part.knownSize();
      if (size.isEmpty()) {
        return size;
      }
      sum += size.getAsLong();
    }
    return OptionalLong.of(sum);
  }

  @Override
  public List<Dataset> splits(long epoch) {
    return List.copyOf(parts);
  }

  @Override
  public Elements elements() {
    return new Passage();
  }

  private final class Passage implements Elements {
    private int part;
    private long epoch;

    /** The passage through the part; null before its first element. */
    private Elements in;

    private Elements open() {
      Elements opened = parts.get(part).elements();
      if (epoch > 0) {
        opened.repeat(opened.position(), epoch);
      }
      return opened;
    }

    @Override
    public Tensor[] next() {
      while (part < parts.size()) {
        in = in == null ? open() : in;
        Tensor[] element = in.next();
        if (element != null) {
          return element;
        }
        close();
        part++;
      }
      return null;
    }

    @Override
    public int read(RowBuffer to, int max) {
      int n = 0;
      while (n < max && part < parts.size()) {
        in = in == null ? open() : in;
        n += in.read(to, max - n);
        if (n < max) {
          close();
          part++;
        }
      }
      return n;
    }

    @Override
    public long[] position() {
      long[] position = new long[positionLength()];
      position[0] = epoch;
      position[1] = part;
      if (in != null) {
        long[] inside = in.position();
        System.arraycopy(inside, 0, position, 2, inside.length);
      } else {
        Arrays.fill(position, 2, position.length, -1);
      }
      return position;
    }

    @Override
    public void seek(long[] position) {
      close();
      epoch = position[0];
      part = Math.toIntExact(position[1]);
      if (part > parts.size()) {
        throw MillraceException.failedPrecondition(
            "The position that was saved is in part %d of the data, which has %d parts now. Give"
                + " the training the data it had, or start over in another folder.",
            part, parts.size());
      }
      if (part < parts.size() && position[2] >= 0) {
        in = open();
        in.seek(Arrays.copyOfRange(position, 2, 2 + parts.get(part).positionLength()));
      }
    }

    @Override
    public void repeat(long[] beginning, long number) {
      seek(beginning);
      epoch = number;
    }

    @Override
    public void close() {
      if (in != null) {
        in.close();
        in = null;
      }
    }
  }
}
