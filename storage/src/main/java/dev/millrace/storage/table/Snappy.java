package dev.millrace.storage.table;

/**
 * Decompresses Snappy blocks, which old checkpoints contain. A block consists of the length of the
 * result and a list of elements: literal bytes, or copies of earlier bytes of the result.
 */
final class Snappy {
  /**
   * An element of 3 bytes yields at most 64 bytes, so a valid block cannot claim a higher ratio.
   */
  private static final int MAX_RATIO = 22;

  private final byte[] in;
  private int at;
  private byte[] out = {};
  private int produced;

  private Snappy(byte[] in) {
    this.in = in;
  }

  /** Decompresses a block. Throws MalformedException if it is not a Snappy block. */
  static byte[] decompress(byte[] compressed) throws MalformedException {
    return new Snappy(compressed).run();
  }

  /** The input violates the format. */
  static final class MalformedException extends Exception {
    private static final long serialVersionUID = 1;

    MalformedException(String message) {
      super(message);
    }
  }

  private byte[] run() throws MalformedException {
    long length = 0;
    for (int shift = 0; ; shift += 7) {
      int b = next();
      length |= (long) (b & 0x7F) << shift;
      if (b < 0x80) {
        break;
      }
      check(shift < 28, "its length has more than five bytes");
    }
    check(length <= (long) MAX_RATIO * in.length, "it claims to hold more than it can");
    check(length <= Integer.MAX_VALUE - 8, "it claims more than 2 GiB");
    out = new byte[(int) length];
    while (at < in.length) {
      int tag = next();
      switch (tag & 3) {
        case 0 -> literal(tag >>> 2);
        case 1 -> copy(((tag >>> 2) & 7) + 4, (tag >>> 5) << 8 | next());
        case 2 -> copy((tag >>> 2) + 1, little(2));
        default -> copy((tag >>> 2) + 1, little(4));
      }
    }
    check(produced == out.length, "it is cut short");
    return out;
  }

  private void literal(int code) throws MalformedException {
    long n = (code < 60 ? code : little(code - 59)) + 1;
    check(n <= in.length - at && n <= out.length - produced, "a literal leaves the block");
    System.arraycopy(in, at, out, produced, (int) n);
    at += (int) n;
    produced += (int) n;
  }

  /** The source may overlap the destination: the format encodes runs this way. */
  private void copy(int n, long distance) throws MalformedException {
    check(distance > 0 && distance <= produced, "a copy reaches before the beginning");
    check(n <= out.length - produced, "a copy leaves the block");
    int from = produced - (int) distance;
    for (int i = 0; i < n; i++) {
      out[produced++] = out[from++];
    }
  }

  private long little(int bytes) throws MalformedException {
    long v = 0;
    for (int i = 0; i < bytes; i++) {
      v |= (long) next() << (8 * i);
    }
    return v;
  }

  private int next() throws MalformedException {
    check(at < in.length, "it is cut short");
    return in[at++] & 0xFF;
  }

  private static void check(boolean ok, String problem) throws MalformedException {
    if (!ok) {
      throw new MalformedException(problem);
    }
  }
}
