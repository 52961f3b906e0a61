package dev.millrace.runtime.exec;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * The numbers by which tasks tell the running loops of a step apart in rendezvous keys. They follow
 * from the loop's name and where it runs, so that all tasks find the same; they are those of
 * TensorFlow 2, whose hash is MurmurHash64A.
 */
final class FrameId {
  /** What is in no loop. */
  static final long OUTERMOST = 0;

  private static final long SEED = 0xDECAFCAFFEL;
  private static final long M = 0xc6a4a7935bd1e995L;
  private static final int R = 47;
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private FrameId() {}

  /** The loop called {@code name} as it runs in one iteration of the loop {@code parent}. */
  static long of(long parent, long iteration, String name) {
    return combine(parent, combine(iteration, hash(name.getBytes(StandardCharsets.UTF_8))));
  }

  private static long combine(long a, long b) {
    return a ^ (b + 0x9e3779b97f4a7800L + (a << 10) + (a >>> 4));
  }

  static long hash(byte[] data) {
    long h = SEED ^ (data.length * M);
    int whole = data.length & ~7;
    for (int i = 0; i < whole; i += 8) {
      long k = (long) LONGS.get(data, i) * M;
      k ^= k >>> R;
      h = (h ^ (k * M)) * M;
    }
    if (whole < data.length) {
      for (int i = data.length - 1; i >= whole; i--) {
        h ^= (data[i] & 0xFFL) << (8 * (i - whole));
      }
      h *= M;
    }
    h ^= h >>> R;
    h *= M;
    return h ^ (h >>> R);
  }
}
