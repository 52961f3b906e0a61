package dev.millrace.parquet;

/** Decodes Parquet's DELTA_BINARY_PACKED: differences of neighbours, packed in blocks. */
final class Deltas {
  private Deltas() {}

  /** Reads {@code n} values, as many as must be there. */
  static long[] read(BitReader in, int n) {
    int blockSize = in.count();
    int miniblocks = in.count();
    int total = in.count();
    if (miniblocks == 0 || blockSize % miniblocks != 0 || total != n) {
      throw new IndexOutOfBoundsException(total + " values of " + n);
    }
    int miniblock = blockSize / miniblocks;
    if (miniblock == 0 || miniblock % 8 != 0) {
      throw new IndexOutOfBoundsException("blocks of " + miniblock);
    }
    long[] values = new long[n];
    long value = in.zigzag();
    int done = 0;
    if (n > 0) {
      values[done++] = value;
    }
    while (done < n) {
      long least = in.zigzag();
      int widths = in.take(miniblocks);
      for (int m = 0; m < miniblocks && done < n; m++) {
        int width = in.bytes[widths + m];
        if (width < 0 || width > 64) {
          throw new IndexOutOfBoundsException("width " + width);
        }
        int from = in.take((long) miniblock / 8 * width);
        for (int i = 0; i < miniblock && done < n; i++) {
          value += least + in.packed(from, width, i);
          values[done++] = value;
        }
      }
    }
    return values;
  }
}
