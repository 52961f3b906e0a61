package dev.millrace.tensor.math.random;

import dev.millrace.tensor.VectorModule;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShuffle;
import jdk.incubator.vector.VectorSpecies;

/**
 * The counter-based random generator Philox4x32-10 (Salmon et al., "Parallel random numbers: as
 * easy as 1, 2, 3", 2011) as TensorFlow uses it. A 64-bit key and a 128-bit counter give four
 * 32-bit numbers, every counter independently of all others: any place of the sequence can be
 * reached at once, and threads can work on different parts of it.
 *
 * <p>An instance is the key with the counter at which a sequence begins; it never changes.
 */
public record Philox(long key, long low, long high) {
  private static final long MULTIPLIER_A = 0xD2511F53L;
  private static final long MULTIPLIER_B = 0xCD9E8D57L;
  private static final int WEYL_A = 0x9E3779B9;
  private static final int WEYL_B = 0xBB67AE85;
  private static final long LOW_WORD = 0xFFFFFFFFL;

  /**
   * How many counters a JVM takes one at a time before it uses vectors. While it interprets, the
   * loop over vectors is a hundred times as slow, and the first thing a parameter server does is to
   * draw the initial values of a model. The numbers are the same.
   */
  static final int COLD = 1 << 17;

  /** About how many those were: threads may overwrite what others have counted. */
  private static int taken;

  /** The sequence of the two seeds that TensorFlow's random ops have as attributes. */
  public static Philox ofSeeds(long seed, long seed2) {
    return new Philox(seed, 0, seed2);
  }

  /** The sequence of the seed pair that TensorFlow's stateless random ops take, which mixes it. */
  public static Philox ofMixedSeeds(long seed0, long seed1) {
    int[] mix = new int[4];
    new Philox(0x02461E29_3EC8F720L, seed0, seed1).at(0, mix, 0);
    return new Philox(join(mix[0], mix[1]), 0, join(mix[2], mix[3]));
  }

  private static long join(int low, int high) {
    return (low & LOW_WORD) | (long) high << 32;
  }

  /** The sequence from {@code n} counters further on; {@code n} is not negative. */
  public Philox skipped(long n) {
    long l = low + n;
    return new Philox(key, l, Long.compareUnsigned(l, low) < 0 ? high + 1 : high);
  }

  /** Writes the four numbers of the {@code n}th counter of the sequence. */
  public void at(long n, int[] out, int to) {
    long l = low + n;
    long h = Long.compareUnsigned(l, low) < 0 ? high + 1 : high;
    int c0 = (int) l;
    int c1 = (int) (l >>> 32);
    int c2 = (int) h;
    int c3 = (int) (h >>> 32);
    int k0 = (int) key;
    int k1 = (int) (key >>> 32);
    for (int round = 0; round < 10; round++) {
      long a = (c0 & LOW_WORD) * MULTIPLIER_A;
      long b = (c2 & LOW_WORD) * MULTIPLIER_B;
      c0 = (int) (b >>> 32) ^ c1 ^ k0;
      c1 = (int) b;
      c2 = (int) (a >>> 32) ^ c3 ^ k1;
      c3 = (int) a;
      k0 += WEYL_A;
      k1 += WEYL_B;
    }
    out[to] = c0;
    out[to + 1] = c1;
    out[to + 2] = c2;
    out[to + 3] = c3;
  }

  /** Whether the JVM has drawn so few numbers that it may not have compiled the loops yet. */
  static boolean isCold() {
    return taken < COLD;
  }

  /** Writes the numbers of {@code count} counters of the sequence, from the {@code n}th on. */
  void fill(long n, int count, int[] out) {
    int i = 0;
    // Where the low half of the counter overflows, one at a time.
    long first = low + n;
    if (isCold()) {
      taken += count;
    } else if (VectorModule.isPresent()
        && Long.compareUnsigned(first, low) >= 0
        && Long.compareUnsigned(first + count, first) >= 0) {
      i = Vectors.fill(this, first, count, out);
    }
    for (; i < count; i++) {
      at(n + i, out, 4 * i);
    }
  }

  /** The numbers of the sequence one at a time. Not for several threads. */
  public Cursor cursor() {
    return new Cursor(this);
  }

  /** A place in a sequence. */
  public static final class Cursor {
    private final Philox sequence;
    private final int[] numbers = new int[4];
    private long counter;
    private int used = 4;

    private Cursor(Philox sequence) {
      this.sequence = sequence;
    }

    /** The next 32 bits. */
    public int nextInt() {
      if (used == 4) {
        sequence.at(counter++, numbers, 0);
        used = 0;
      }
      return numbers[used++];
    }

    /** A double from 0 to 1, exclusive, from the next 64 bits. */
    public double nextDouble() {
      int high = nextInt();
      return unitDouble(high, nextInt());
    }

    /** The four numbers of the next counter that has not been begun. */
    public void nextFour(int[] out) {
      used = 4;
      sequence.at(counter++, out, 0);
    }
  }

  /** A float from 0 to 1, exclusive, of the low 23 bits. */
  public static float unitFloat(int bits) {
    return Float.intBitsToFloat(bits & 0x7FFFFF | 0x3F800000) - 1;
  }

  /** A double from 0 to 1, exclusive, of the low 20 bits of {@code high} and all of {@code low}. */
  public static double unitDouble(int high, int low) {
    long bits = (high & 0xFFFFFL) << 32 | low & LOW_WORD;
    return Double.longBitsToDouble(bits | 0x3FF0000000000000L) - 1;
  }

  /** The loops over vectors: apart, as they can be linked only where there is the Vector API. */
  private static final class Vectors {
    private static final VectorSpecies<Long> LANES = LongVector.SPECIES_PREFERRED;
    private static final VectorShuffle<Long> ZIP_LOW = VectorShuffle.makeZip(LANES, 0);
    private static final VectorShuffle<Long> ZIP_HIGH = VectorShuffle.makeZip(LANES, 1);

    private Vectors() {}

    /** Writes the numbers of whole vectors of counters; gives how many these are. */
    static int fill(Philox p, long first, int count, int[] out) {
      int i = 0;
      for (; i + LANES.length() <= count; i += LANES.length()) {
        several(p, first + i, out, 4 * i);
      }
      return i;
    }

    /** What {@link Philox#at} does for one counter, for as many as a vector has lanes. */
    private static void several(Philox p, long counter, int[] out, int to) {
      LongVector c = LongVector.broadcast(LANES, counter).addIndex(1);
      LongVector c0 = c.and(LOW_WORD);
      LongVector c1 = c.lanewise(VectorOperators.LSHR, 32);
      LongVector c2 = LongVector.broadcast(LANES, p.high & LOW_WORD);
      LongVector c3 = LongVector.broadcast(LANES, p.high >>> 32);
      int k0 = (int) p.key;
      int k1 = (int) (p.key >>> 32);
      for (int round = 0; round < 10; round++) {
        LongVector a = c0.and(LOW_WORD).mul(MULTIPLIER_A);
        LongVector b = c2.and(LOW_WORD).mul(MULTIPLIER_B);
        c0 =
            b.lanewise(VectorOperators.LSHR, 32)
                .lanewise(VectorOperators.XOR, c1)
                .lanewise(VectorOperators.XOR, k0 & LOW_WORD);
        c1 = b.and(LOW_WORD);
        c2 =
            a.lanewise(VectorOperators.LSHR, 32)
                .lanewise(VectorOperators.XOR, c3)
                .lanewise(VectorOperators.XOR, k1 & LOW_WORD);
        c3 = a.and(LOW_WORD);
        k0 += WEYL_A;
        k1 += WEYL_B;
      }
      // The numbers of a counter side by side: two to a long, then the longs of both kinds in turn.
      LongVector first = c0.or(c1.lanewise(VectorOperators.LSHL, 32));
      LongVector second = c2.or(c3.lanewise(VectorOperators.LSHL, 32));
      first.rearrange(ZIP_LOW, second).reinterpretAsInts().intoArray(out, to);
      first.rearrange(ZIP_HIGH, second).reinterpretAsInts().intoArray(out, to + 2 * LANES.length());
    }
  }
}
