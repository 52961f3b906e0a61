package dev.millrace.parquet;

import java.util.Arrays;

/**
 * Decodes Parquet's hybrid of runs of one value and groups of packed values, in which levels and
 * the numbers of dictionary entries are written.
 */
final class RunLengths {
  private RunLengths() {}

  /** Reads {@code n} values of {@code width} bits. */
  static void read(BitReader in, int width, int[] to, int n) {
    if (width < 0 || width > 32) {
      throw new IndexOutOfBoundsException("width " + width);
    }
    int done = 0;
    while (done < n) {
      long header = in.varint();
      long count = header >>> 1;
      if (count == 0) {
        throw new IndexOutOfBoundsException("an empty run");
      }
      if ((header & 1) == 0) {
        int value = 0;
        for (int shift = 0; shift < width; shift += 8) {
          value |= in.next() << shift;
        }
        int run = (int) Math.min(count, n - done);
        Arrays.fill(to, done, done + run, value);
        done += run;
      } else {
        int values = (int) Math.min(8 * Math.min(count, Integer.MAX_VALUE / 8), n - done);
        // The last group may be cut short where its values are not needed.
        long all = Math.min(count, Integer.MAX_VALUE) * width;
        long needed = ((long) values * width + 7) / 8;
        int from = in.take(Math.max(needed, Math.min(all, in.left())));
        in.unpack(from, width, to, done, values);
        done += values;
      }
    }
  }

  /** How many bits the numbers from 0 to {@code most} need. */
  static int width(int most) {
    return 32 - Integer.numberOfLeadingZeros(most);
  }
}
