package dev.millrace.train.data;

import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.SplittableRandom;

/**
 * Elements drawn from a buffer. A position is where the source stood when this passage began and
 * how many were drawn since; going there draws them again, without giving them out. What is drawn
 * follows from the seed and where the source stood, so repetitions differ.
 */
record Shuffled(Dataset source, int size, long seed) implements Dataset {
  /** Sets the random numbers of one seed apart from those of the next. */
  private static final long GOLDEN = 0x9E3779B97F4A7C15L;

  @Override
  public OptionalLong knownSize() {
    return source.knownSize();
  }

  @Override
  public int positionLength() {
    return source.positionLength() + 2;
  }

  @Override
  public List<Dataset> splits(long epoch) {
    List<Dataset> shuffled = new ArrayList<>();
    for (Dataset split : source.splits(epoch)) {
      shuffled.add(split.shuffle(size, seed + GOLDEN * (shuffled.size() + 1)));
    }
    Collections.shuffle(shuffled, new Random(seed + GOLDEN * epoch));
    return shuffled;
  }

  @Override
  public Elements elements() {
    return new Passage();
  }

  private final class Passage implements Elements {
    private final Elements in = source.elements();
    private final RowBuffer buffer = new RowBuffer(size);

    /** How many elements are read at once, and so may be missing from a full buffer. */
    private final int chunk = Math.clamp(size / 8, 1, 256);

    private boolean ended;
    private long[] start = in.position();
    private long epoch;
    private long drawn;
    private SplittableRandom random = random();

    private SplittableRandom random() {
      return new SplittableRandom(seed + GOLDEN * epoch);
    }

    @Override
    public Tensor[] next() {
      return fill() ? buffer.take(draw()) : null;
    }

    @Override
    public int read(RowBuffer to, int max) {
      int n = 0;
      for (; n < max && fill(); n++) {
        buffer.move(draw(), to);
      }
      return n;
    }

    /** Whether there is an element to draw. */
    private boolean fill() {
      int missing = size - buffer.size();
      if (!ended && missing >= chunk) {
        ended = in.read(buffer, missing) < missing;
      }
      return buffer.size() > 0;
    }

    private int draw() {
      drawn++;
      return random.nextInt(buffer.size());
    }

    @Override
    public long[] position() {
      return Positions.with(Positions.with(start, epoch), drawn);
    }

    @Override
    public void seek(long[] position) {
      buffer.clear();
      ended = false;
      long draws = Positions.last(position);
      long[] rest = Positions.butLast(position);
      epoch = Positions.last(rest);
      start = Positions.butLast(rest);
      in.seek(start);
      drawn = 0;
      random = random();
      Elements.pass(this, draws);
    }

    @Override
    public void repeat(long[] beginning, long number) {
      buffer.clear();
      ended = false;
      in.repeat(Positions.butLast(Positions.butLast(beginning)), number);
      start = in.position();
      epoch = number;
      drawn = 0;
      random = random();
    }

    @Override
    public void close() {
      buffer.clear();
      in.close();
    }
  }
}
