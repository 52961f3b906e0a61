package dev.millrace.storage;

import java.util.zip.CRC32C;

/**
 * CRC-32C as TensorFlow stores it: masked, because a CRC of data that contains its own CRC is weak.
 */
public final class Checksum {
  private static final int MASK_DELTA = 0xA282EAD8;

  private Checksum() {}

  static int mask(int crc) {
    return Integer.rotateRight(crc, 15) + MASK_DELTA;
  }

  static int unmask(int masked) {
    return Integer.rotateLeft(masked - MASK_DELTA, 15);
  }

  /** The masked value of {@code crc}. */
  public static int masked(CRC32C crc) {
    return mask((int) crc.getValue());
  }

  public static int masked(byte[] bytes, int offset, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, offset, length);
    return masked(crc);
  }

  /** Updates {@code crc} with the four bytes of {@code value}, little-endian. */
  public static void updateInt(CRC32C crc, int value) {
    crc.update(value);
    crc.update(value >>> 8);
    crc.update(value >>> 16);
    crc.update(value >>> 24);
  }
}
