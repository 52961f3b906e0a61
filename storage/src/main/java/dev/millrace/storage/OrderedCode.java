package dev.millrace.storage;

import com.google.protobuf.ByteString;
import java.io.ByteArrayOutputStream;

/**
 * Encodes numbers and strings so that comparing the bytes compares the values. The keys under which
 * a checkpoint keeps the slices of a partitioned tensor are made of these.
 */
final class OrderedCode {
  /** By length in bytes: the bits that mark the length of a signed number, xored into its top. */
  private static final int[] SIGNED_HEADERS = {
    0, 0x8000, 0xC000, 0xE000, 0xF000, 0xF800, 0xFC00, 0xFE00, 0xFF00, 0xFF80, 0xFFC0
  };

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();

  /** Appends a number that is not negative: how many bytes it has, then those. */
  OrderedCode number(long n) {
    int bytes = (64 - Long.numberOfLeadingZeros(n) + 7) / 8;
    out.write(bytes);
    for (int i = bytes - 1; i >= 0; i--) {
      out.write((int) (n >>> (8 * i)));
    }
    return this;
  }

  /** Appends any number. */
  OrderedCode signed(long n) {
    int length = (64 - Long.numberOfLeadingZeros(n < 0 ? ~n : n)) / 7 + 1;
    int header = SIGNED_HEADERS[length];
    for (int i = length - 1; i >= 0; i--) {
      // Two lengths are longer than the number itself and begin with copies of its sign.
      int b = (int) (i > 7 ? n >> 63 : n >> (8 * i));
      out.write(b ^ (header >>> 8));
      header = (header & 0xFF) << 8;
    }
    return this;
  }

  /** Appends a string, its end marked. */
  OrderedCode string(ByteString s) {
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

  ByteString toKey() {
    return ByteString.copyFrom(out.toByteArray());
  }
}
