package dev.millrace.ops.random;

import dev.millrace.tensor.math.random.Philox;
import java.util.function.LongToDoubleFunction;

/**
 * A distribution over the classes from 0 on, which draws as TensorFlow does from the same numbers.
 *
 * <p>Threading: as the implementation says.
 */
interface RangeSampler {
  /** How many classes there are. */
  long range();

  /** One class. */
  long sample(Philox.Cursor random);

  /** How likely a class is; 0 outside the range. */
  float probability(long value);

  /** Learns that a class has occurred. */
  default void update(long value) {}

  /** All equally likely. */
  static RangeSampler uniform(long range) {
    float each = (float) (1.0 / range);
    return of(range, random -> uniform64(random, range), value -> each);
  }

  /** Class k with a probability that falls about as 1 / k. */
  static RangeSampler logUniform(long range) {
    double logRange = Math.log1p((double) range);
    return of(
        range,
        random -> ((long) Math.exp(random.nextDouble() * logRange) - 1) % range,
        value -> Math.log((value + 2.0) / (value + 1.0)) / logRange);
  }

  /** Draws a class. */
  interface Draw {
    long from(Philox.Cursor random);
  }

  private static RangeSampler of(long range, Draw draw, LongToDoubleFunction probability) {
    return new RangeSampler() {
      @Override
      public long range() {
        return range;
      }

      @Override
      public long sample(Philox.Cursor random) {
        return draw.from(random);
      }

      @Override
      public float probability(long value) {
        return (float) probability.applyAsDouble(value);
      }
    };
  }

  /** From 0 to n - 1, each exactly as likely, from as many 32-bit numbers as that takes. */
  static int uniform32(Philox.Cursor random, int n) {
    if ((n & (n - 1)) == 0) {
      return random.nextInt() & (n - 1);
    }
    int rest = Integer.remainderUnsigned(-1, n) + 1;
    int drawn = random.nextInt();
    while (Integer.compareUnsigned(drawn, rest) < 0) {
      drawn = random.nextInt();
    }
    return Integer.remainderUnsigned(drawn, n);
  }

  private static long uniform64(Philox.Cursor random, long n) {
    long drawn = next64(random);
    if ((n & (n - 1)) == 0) {
      return drawn & (n - 1);
    }
    long rest = Long.remainderUnsigned(-1, n) + 1;
    while (Long.compareUnsigned(drawn, rest) < 0) {
      drawn = next64(random);
    }
    return Long.remainderUnsigned(drawn, n);
  }

  private static long next64(Philox.Cursor random) {
    long low = random.nextInt() & 0xFFFFFFFFL;
    return low | (long) random.nextInt() << 32;
  }
}
