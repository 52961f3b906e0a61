package dev.millrace.ops.random;

import dev.millrace.tensor.math.random.Philox;

/**
 * Classes as likely as they have been frequent: each begins with a count of 1. The counts are in a
 * Fenwick tree, so that drawing and counting take the logarithm of the range.
 *
 * <p>Threading: any thread.
 */
final class LearnedUnigram implements RangeSampler {
  private final int range;
  private final int[] counts;
  private final int[] tree;
  private int total;

  LearnedUnigram(int range) {
    this.range = range;
    counts = new int[range];
    tree = new int[range + 1];
    for (int i = 0; i < range; i++) {
      add(i);
    }
  }

  @Override
  public long range() {
    return range;
  }

  @Override
  public synchronized long sample(Philox.Cursor random) {
    int left = RangeSampler.uniform32(random, total);
    int at = 0;
    for (int step = Integer.highestOneBit(range); step > 0; step >>= 1) {
      if (at + step <= range && tree[at + step] <= left) {
        at += step;
        left -= tree[at];
      }
    }
    return at;
  }

  @Override
  public synchronized float probability(long value) {
    return (float) counts[(int) value] / total;
  }

  @Override
  public synchronized void update(long value) {
    if (total < Integer.MAX_VALUE) {
      add((int) value);
    }
  }

  private void add(int value) {
    counts[value]++;
    total++;
    for (int i = value + 1; i <= range; i += i & -i) {
      tree[i]++;
    }
  }
}
