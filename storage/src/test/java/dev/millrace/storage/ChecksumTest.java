package dev.millrace.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

class ChecksumTest {
  private static final byte[] DIGITS = "123456789".getBytes(StandardCharsets.US_ASCII);

  @Test
  void theCheckValueOfCastagnoli() {
    assertEquals(0xE3069283, Checksum.unmask(Checksum.masked(DIGITS, 0, DIGITS.length)));
  }

  @Test
  void unmaskUndoesMask() {
    Random random = new Random(1);
    for (int i = 0; i < 1000; i++) {
      int crc = random.nextInt();
      assertEquals(crc, Checksum.unmask(Checksum.mask(crc)));
    }
  }

  @Test
  void anIntCountsAsFourBytesLowestFirst() {
    CRC32C one = new CRC32C();
    Checksum.updateInt(one, 0x04030201);
    CRC32C other = new CRC32C();
    other.update(new byte[] {1, 2, 3, 4});
    assertEquals(other.getValue(), one.getValue());
  }
}
