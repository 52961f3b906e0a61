package dev.millrace.storage.table;

import com.google.protobuf.ByteString;
import java.io.ByteArrayOutputStream;

/**
 * Encodes numbers and strings so that the byte order equals the order of the values. Checkpoints
 * use it for the keys of slices.
 */
public final class OrderedCode {
  /**
   * By length in bytes: the bits that mark the length of a signed number. They are xored into its
   * first bytes.
   */
  private static final int[] SIGNED_HEADERS = {
    0, 0x8000, 0xC000, 0xE000, 0xF000, 0xF800, 0xFC00, 0xFE00, 0xFF00, 0xFF80, 0xFFC0
  };

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();

  /** Appends a non-negative number: its length in bytes, then the bytes. */
  public OrderedCode number(long n) {
    int bytes = (64 - Long.numberOfLeadingZeros(n) + 7) / 8;
    out.write(bytes);
    for (int i = bytes - 1; i >= 0; i--) {
      out.write((int) (n >>> (8 * i)));
    }
    return this;
  }

  /** Appends any number. */
  public OrderedCode signed(long n) {
    int length = (64 - Long.numberOfLeadingZeros(n < 0 ? ~n : n)) / 7 + 1;
    int header = SIGNED_HEADERS[length];
    for (int i = length - 1; i >= 0; i--) {
      // Two lengths exceed the size of a long; their first bytes are copies of the sign.
      int b = (int) (i > 7 ? n >> 63 : n >> (8 * i));
      out.write(b ^ (header >>> 8));
      header = (header & 0xFF) << 8;
    }
    return this;
  }

  /** Appends a string with an end mark. */
  public OrderedCode string(ByteString s) {
    for (byte b : s) {
      out.write(b);
      if (b == 0) {
        out.write(0xFF);
      } else if (b == (byte) 0xFF) {
        out.write(0);
      }
    }
    out.write(0);
    out.write(1);
    return this;
  }

  public ByteString toKey() {
    return ByteString.copyFrom(out.toByteArray());
  }
}
