package dev.millrace.storage;

import java.util.zip.CRC32C;

/**
 * CRC-32C the way TensorFlow stores it: masked, so that the checksum of bytes which themselves hold
 * a checksum is still a good one.
 */
final class Checksum {
  private static final int MASK_DELTA = 0xA282EAD8;

  private Checksum() {}

  static int mask(int crc) {
    return Integer.rotateRight(crc, 15) + MASK_DELTA;
  }

  static int unmask(int masked) {
    return Integer.rotateLeft(masked - MASK_DELTA, 15);
  }

  /** The masked value of what {@code crc} has seen so far. */
  static int masked(CRC32C crc) {
    return mask((int) crc.getValue());
  }

  static int masked(byte[] bytes, int offset, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, offset, length);
    return masked(crc);
  }

  /** Continues {@code crc} over the four bytes of {@code value}, lowest first. */
  static void updateInt(CRC32C crc, int value) {
    crc.update(value);
    crc.update(value >>> 8);
    crc.update(value >>> 16);
    crc.update(value >>> 24);
  }
}
