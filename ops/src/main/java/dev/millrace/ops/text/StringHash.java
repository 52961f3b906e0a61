package dev.millrace.ops.text;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * The hash functions by which TensorFlow assigns strings to buckets. Trained weights depend on
 * these numbers, so they must never change.
 */
public final class StringHash {
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle INTS =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  private static final long MURMUR = 0xC6A4A7935BD1E995L;
  private static final long MURMUR_SEED = 0xDECAFCAFFEL;

  private StringHash() {}

  /** MurmurHash64A, with TensorFlow's seed: its hash for tables in memory and old buckets. */
  public static long murmur(byte[] s) {
    long h = MURMUR_SEED ^ s.length * MURMUR;
    int i = 0;
    for (; i + 8 <= s.length; i += 8) {
      long k = (long) LONGS.get(s, i) * MURMUR;
      h = (h ^ mixed(k) * MURMUR) * MURMUR;
    }
    if (i < s.length) {
      long rest = 0;
      for (int k = s.length - 1; k >= i; k--) {
        rest = rest << 8 | s[k] & 0xFF;
      }
      h = (h ^ rest) * MURMUR;
    }
    return mixed(mixed(h) * MURMUR);
  }

  private static long mixed(long v) {
    return v ^ v >>> 47;
  }

  /** SipHash-2-4 (Aumasson and Bernstein, 2012), under a key of two numbers. */
  public static long sip(long key0, long key1, byte[] s) {
    long[] v = {
      key0 ^ 0x736F6D6570736575L,
      key1 ^ 0x646F72616E646F6DL,
      key0 ^ 0x6C7967656E657261L,
      key1 ^ 0x7465646279746573L
    };
    int i = 0;
    for (; i + 8 <= s.length; i += 8) {
      absorb(v, (long) LONGS.get(s, i));
    }
    long last = (long) s.length << 56;
    for (int k = i; k < s.length; k++) {
      last |= (s[k] & 0xFFL) << 8 * (k - i);
    }
    absorb(v, last);
    v[2] ^= 0xFF;
    for (int round = 0; round < 4; round++) {
      sipRound(v);
    }
    return v[0] ^ v[1] ^ v[2] ^ v[3];
  }

  private static void absorb(long[] v, long word) {
    v[3] ^= word;
    sipRound(v);
    sipRound(v);
    v[0] ^= word;
  }

  private static void sipRound(long[] v) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = Long.rotateLeft(v[1], 13) ^ v[0];
    v[3] = Long.rotateLeft(v[3], 16) ^ v[2];
    v[0] = Long.rotateLeft(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = Long.rotateLeft(v[1], 17) ^ v[2];
    v[3] = Long.rotateLeft(v[3], 21) ^ v[0];
    v[2] = Long.rotateLeft(v[2], 32);
  }

  // ---- FarmHash (Pike, 2014): Fingerprint64, by the length of the string ----

  private static final long K0 = 0xC3A5C85C97CB3127L;
  private static final long K1 = 0xB492B66FBE98F273L;
  private static final long K2 = 0x9AE16A3B2F90404FL;
  private static final int BLOCK = 64;

  /** FarmHash's Fingerprint64, the same on every machine and in every version. */
  public static long farm(byte[] s) {
    int n = s.length;
    if (n > BLOCK) {
      return farmLong(s);
    }
    if (n > 32) {
      return farm33To64(s);
    }
    if (n > 16) {
      return farm17To32(s);
    }
    long multiplier = K2 + 2L * n;
    if (n >= 8) {
      long a = at(s, 0) + K2;
      long b = at(s, n - 8);
      long c = right(b, 37) * multiplier + a;
      long d = (right(a, 25) + b) * multiplier;
      return join(c, d, multiplier);
    }
    if (n >= 4) {
      long first = (int) INTS.get(s, 0) & 0xFFFFFFFFL;
      long last = (int) INTS.get(s, n - 4) & 0xFFFFFFFFL;
      return join(n + (first << 3), last, multiplier);
    }
    if (n > 0) {
      long y = (s[0] & 0xFF) + ((s[n >> 1] & 0xFFL) << 8);
      long z = n + ((s[n - 1] & 0xFFL) << 2);
      return mixed(y * K2 ^ z * K0) * K2;
    }
    return K2;
  }

  private static long farm17To32(byte[] s) {
    int n = s.length;
    long multiplier = K2 + 2L * n;
    long a = at(s, 0) * K1;
    long b = at(s, 8);
    long c = at(s, n - 8) * multiplier;
    long d = at(s, n - 16) * K2;
    return join(right(a + b, 43) + right(c, 30) + d, a + right(b + K2, 18) + c, multiplier);
  }

  private static long farm33To64(byte[] s) {
    int n = s.length;
    long multiplier = K2 + 2L * n;
    long a = at(s, 0) * K2;
    long b = at(s, 8);
    long c = at(s, n - 8) * multiplier;
    long d = at(s, n - 16) * K2;
    long y = right(a + b, 43) + right(c, 30) + d;
    long z = join(y, a + right(b + K2, 18) + c, multiplier);
    long e = at(s, 16) * multiplier;
    long f = at(s, 24);
    long g = (y + at(s, n - 32)) * multiplier;
    long h = (z + at(s, n - 24)) * multiplier;
    return join(right(e + f, 43) + right(g, 30) + h, e + right(f + a, 18) + g, multiplier);
  }

  /** Whole blocks one after the other, then the last 64 bytes, in part for the second time. */
  private static long farmLong(byte[] s) {
    int rest = s.length - 1 & BLOCK - 1;
    int end = s.length - 1 - rest;
    Farm state = new Farm();
    state.x = state.x * K2 + at(s, 0);
    for (int i = 0; i < end; i += BLOCK) {
      state.block(s, i, K1, 1);
    }
    long multiplier = K1 + ((state.z & 0xFF) << 1);
    state.w0 += rest;
    state.v0 += state.w0;
    state.w0 += state.v0;
    state.block(s, s.length - BLOCK, multiplier, 9);
    return join(
        join(state.v0, state.w0, multiplier) + mixed(state.y) * K0 + state.z,
        join(state.v1, state.w1, multiplier) + state.x,
        multiplier);
  }

  /** The 56 bytes of state that long strings pass through. */
  private static final class Farm {
    private static final long SEED = 81;
    private long x = SEED;

    @SuppressWarnings("ConstantOverflow") // A hash wraps around.
    private long y = SEED * K1 + 113;

    private long z = mixed(y * K2 + 113) * K2;
    private long v0;
    private long v1;
    private long w0;
    private long w1;

    /** Takes in 64 bytes; {@code weight} is how much of the carried words counts. */
    private void block(byte[] s, int i, long multiplier, long weight) {
      x = right(x + y + v0 + at(s, i + 8), 37) * multiplier;
      y = right(y + v1 + at(s, i + 48), 42) * multiplier;
      x ^= w1 * weight;
      y += v0 * weight + at(s, i + 40);
      z = right(z + w0, 33) * multiplier;
      // Half of the bytes into one pair of words, half into the other.
      long a = v1 * multiplier + at(s, i);
      long b = right(x + w0 + a + at(s, i + 24), 21);
      long sum = a + at(s, i + 8) + at(s, i + 16);
      v0 = sum + at(s, i + 24);
      v1 = b + right(sum, 44) + a;
      a = z + w1 + at(s, i + 32);
      b = right(y + at(s, i + 16) + a + at(s, i + 56), 21);
      sum = a + at(s, i + 40) + at(s, i + 48);
      w0 = sum + at(s, i + 56);
      w1 = b + right(sum, 44) + a;
      long swap = z;
      z = x;
      x = swap;
    }
  }

  private static long at(byte[] s, int i) {
    return (long) LONGS.get(s, i);
  }

  private static long right(long v, int bits) {
    return Long.rotateRight(v, bits);
  }

  private static long join(long u, long v, long multiplier) {
    long a = mixed((u ^ v) * multiplier);
    return mixed((v ^ a) * multiplier) * multiplier;
  }
}
