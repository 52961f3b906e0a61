package dev.millrace.graph.store;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * The checksum of a value that is kept in units. It is a sum over the units, so that it follows
 * from the previous one when some of them change.
 *
 * <p>Threading: one thread.
 */
final class UnitSums {
  /** A buffer has at most 2 GiB: larger values are looked at in windows of about this size. */
  private static final long WINDOW = 1L << 30;

  private final CRC32C crc = new CRC32C();

  /** What unit {@code index} contributes to the sum. */
  long ofUnit(long index, ByteBuffer bytes) {
    crc.reset();
    crc.update(bytes);
    return mixed(index, crc.getValue());
  }

  /** A number that depends on all bits of both: the finalizer of SplitMix64. */
  private static long mixed(long index, long check) {
    long z = (index << 32) + check + 0x9e3779b97f4a7c15L;
    z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
    z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
    return z ^ (z >>> 31);
  }

  /** Copies {@code from} to the start of {@code to}, and returns the sum of it. */
  long copy(MemorySegment from, MemorySegment to, int unitBytes) {
    return walk(from, to, unitBytes);
  }

  /** The sum of a whole value. */
  long of(MemorySegment value, int unitBytes) {
    return walk(value, null, unitBytes);
  }

  private long walk(MemorySegment from, MemorySegment to, int unitBytes) {
    long window = WINDOW - WINDOW % unitBytes;
    long sum = 0;
    long index = 0;
    for (long start = 0; start < from.byteSize(); start += window) {
      int size = (int) Math.min(window, from.byteSize() - start);
      ByteBuffer bytes = from.asSlice(start, size).asByteBuffer();
      for (int at = 0; at < size; at += unitBytes) {
        int n = Math.min(unitBytes, size - at);
        if (to != null) {
          MemorySegment.copy(from, start + at, to, start + at, n);
        }
        sum += ofUnit(index++, bytes.limit(at + n).position(at));
      }
    }
    return sum;
  }
}
