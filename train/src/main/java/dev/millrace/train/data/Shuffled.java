package dev.millrace.train.data;

import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Elements drawn from a buffer. A position is where the source stood when this passage began and
 * how many were drawn since; going there draws them again, without giving them out. What is drawn
 * follows from the seed and where the source stood, so repetitions differ.
 */
record Shuffled(Dataset source, int size, long seed) implements Dataset {
  @Override
  public int positionLength() {
    return source.positionLength() + 2;
  }

  @Override
  public Elements elements() {
    return new Passage();
  }

  private final class Passage implements Elements {
    private final Elements in = source.elements();
    private final List<Tensor[]> buffer = new ArrayList<>();
    private long[] start = in.position();
    private long epoch;
    private long drawn;
    private SplittableRandom random = random();

    private SplittableRandom random() {
      return new SplittableRandom(seed + 0x9E3779B97F4A7C15L * epoch);
    }

    @Override
    public Tensor[] next() {
      while (buffer.size() < size) {
        Tensor[] element = in.next();
        if (element == null) {
          break;
        }
        buffer.add(element);
      }
      if (buffer.isEmpty()) {
        return null;
      }
      drawn++;
      int i = random.nextInt(buffer.size());
      Tensor[] chosen = buffer.get(i);
      Tensor[] last = buffer.removeLast();
      if (i < buffer.size()) {
        buffer.set(i, last);
      }
      return chosen;
    }

    @Override
    public long[] position() {
      return Positions.with(Positions.with(start, epoch), drawn);
    }

    @Override
    public void seek(long[] position) {
      buffer.forEach(Elements::release);
      buffer.clear();
      long draws = Positions.last(position);
      long[] rest = Positions.butLast(position);
      epoch = Positions.last(rest);
      start = Positions.butLast(rest);
      in.seek(start);
      drawn = 0;
      random = random();
      while (drawn < draws) {
        Elements.pass(this);
      }
    }

    @Override
    public void repeat(long[] beginning, long number) {
      buffer.forEach(Elements::release);
      buffer.clear();
      in.repeat(Positions.butLast(Positions.butLast(beginning)), number);
      start = in.position();
      epoch = number;
      drawn = 0;
      random = random();
    }

    @Override
    public void close() {
      buffer.forEach(Elements::release);
      buffer.clear();
      in.close();
    }
  }
}
