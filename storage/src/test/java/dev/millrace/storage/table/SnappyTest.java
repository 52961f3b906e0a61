package dev.millrace.storage.table;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.Test;

class SnappyTest {
  private static byte[] hex(String s) {
    return HexFormat.of().parseHex(s);
  }

  @Test
  void decompressesWhatALibraryCompressed() throws Exception {
    assertEquals(0, Snappy.decompress(hex("00")).length);
    assertArrayEquals("a".getBytes(), Snappy.decompress(hex("010061")));
    assertArrayEquals(
        "abcd".repeat(40).getBytes(), Snappy.decompress(hex("a0010c61626364fe0400fe04006e0400")));
    assertEquals(
        "0201020102020202000100020000000101000102",
        HexFormat.of()
            .formatHex(
                Snappy.decompress(
                    hex(
                        "c8014c0201020102020202000100020000000101000102010a0002050b10000000020201"
                            + "06050108010100012a0d1c200100000100010102020115010a04010105070002"
                            + "01180002012c01120558095a016b014201640c00000102092e08020001011200"
                            + "000147011f0d720002053e00010118016a08020200010d010b013f010e340102"
                            + "020101010101010000010200")))
            .substring(0, 40));
  }

  @Test
  void longLiteralsAndFarCopies() throws Exception {
    // 100 literal bytes with a one-byte length, then a copy of 4 from 100 back, four-byte offset.
    byte[] in = new byte[1 + 2 + 100 + 5];
    in[0] = 104;
    in[1] = (byte) (60 << 2);
    in[2] = 99;
    for (int i = 0; i < 100; i++) {
      in[3 + i] = (byte) i;
    }
    in[103] = (byte) (3 << 2 | 3);
    in[104] = 100;
    byte[] out = Snappy.decompress(in);
    assertEquals(104, out.length);
    assertEquals(3, out[103]);
  }

  @Test
  void refusesWhatIsMalformed() {
    for (String bad :
        new String[] {
          "", "ffffffffff01", "ffffffff0f", "0200", "0500616263", "0401", "040061010a", "01016100"
        }) {
      assertThrows(Snappy.MalformedException.class, () -> Snappy.decompress(hex(bad)), bad);
    }
  }

  @Test
  void garbageIsRefusedOrDecompressedButNeverMore() {
    Random random = new Random(11);
    for (int round = 0; round < 20_000; round++) {
      byte[] in = new byte[random.nextInt(40)];
      random.nextBytes(in);
      if (in.length > 1) {
        in[0] &= 0x7F;
      }
      try {
        Snappy.decompress(in);
      } catch (Snappy.MalformedException expected) {
        // Most of them.
      }
    }
  }
}
