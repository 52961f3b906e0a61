package dev.millrace.storage.table;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.protobuf.ByteString;
import dev.millrace.storage.checkpoint.TensorSlice;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.Test;

class OrderedCodeTest {
  private static String hex(ByteString key) {
    return HexFormat.of().formatHex(key.toByteArray());
  }

  private static ByteString signed(long n) {
    return new OrderedCode().signed(n).toKey();
  }

  private static ByteString number(long n) {
    return new OrderedCode().number(n).toKey();
  }

  @Test
  void knownCodes() {
    assertEquals("00", hex(number(0)));
    assertEquals("0102", hex(number(2)));
    assertEquals("80", hex(signed(0)));
    assertEquals("82", hex(signed(2)));
    assertEquals("7f", hex(signed(-1)));
    assertEquals("c096", hex(signed(150)));
    assertEquals("bf", hex(signed(63)));
    assertEquals("c040", hex(signed(64)));
    assertEquals("ffc07fffffffffffffff", hex(signed(Long.MAX_VALUE)));
    assertEquals("003f8000000000000000", hex(signed(Long.MIN_VALUE)));
    ByteString text = ByteString.copyFrom(new byte[] {'a', 0, 'b', (byte) 0xFF});
    assertEquals("6100ff62ff000001", hex(new OrderedCode().string(text).toKey()));
  }

  @Test
  void theKeyTensorFlowUses() {
    TensorSlice rows = TensorSlice.parse("150,150:0,2");
    assertEquals("007000010102c096c0968082", hex(rows.keyOf("p")));
  }

  @Test
  void bytesCompareAsNumbersDo() {
    Random random = new Random(2);
    for (int round = 0; round < 100_000; round++) {
      long a = random.nextLong() >> random.nextInt(64);
      long b =
          random.nextInt(4) == 0
              ? a + random.nextInt(3) - 1
              : random.nextLong() >> random.nextInt(64);
      assertEquals(
          Integer.signum(Long.compare(a, b)),
          Integer.signum(TableWriter.KEY_ORDER.compare(signed(a), signed(b))),
          () -> "signed " + a + " against " + b);
      long p = a & Long.MAX_VALUE;
      long q = b & Long.MAX_VALUE;
      assertEquals(
          Integer.signum(Long.compare(p, q)),
          Integer.signum(TableWriter.KEY_ORDER.compare(number(p), number(q))),
          () -> p + " against " + q);
    }
  }
}
